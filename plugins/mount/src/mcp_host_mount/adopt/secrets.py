"""Which values of a client's file are secrets: by the names that they have, and by their looks."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

NAMES = re.compile(
    r"auth|bearer|cookie|cred|dsn|key|passphrase|passw|pat\b|private|pwd|secret|session|sign"
    r"|token",
    re.IGNORECASE,
)
"""Words in the name of a variable, an option or a header whose value is a secret."""
PLAIN_HEADERS = frozenset(
    ("accept", "accept-encoding", "accept-language", "content-type", "origin", "user-agent")
)
PLAIN = re.compile(
    r"(?:true|false|yes|no|on|off|[0-9]{1,8}|[a-z]{1,16}|[a-z]{2}-[A-Z]{2}|v?[0-9.]{1,12})"
)
"""What is too plain to be a secret, whatever its name is not."""
TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|npm|hf|secret|tvly|figd|shpat|glpat|pypi|xox[a-z])[-_]|gh[opsu]_"
    r"|github_pat_|lin_api_|ntn_|dop_v1_|SG\.|AKIA|AIza|eyJ)[-_.A-Za-z0-9]{8,}"
)
LONG_WORD = re.compile(r"(?=[^/\\\s]*[0-9])(?=[^/\\\s]*[A-Za-z])[A-Za-z0-9_+=.:~-]{24,}")
"""A long word of letters and digits, which nobody types."""
PAIR = re.compile(
    r"""([A-Za-z_][A-Za-z0-9_-]*)["']?  # a name, as in NAME=value, Name: value, "name":"value"
    (?:\s*=\s*|:\s+|(?<=["']):)
    ["']?([^\s"',;&]+)""",
    re.VERBOSE,
)
CREDENTIALS = re.compile(r"\b(?:Bearer|Basic|Token)\s+[-A-Za-z0-9_.~+/]{4,}", re.IGNORECASE)
"""How the value of a header says who calls, wherever it stands."""


def is_secret(name: str, value: str) -> bool:
    """Whether the value of a variable or an option is to be kept out of the settings."""
    if not value:
        return False
    if NAMES.search(name):
        return value.lower() not in ("true", "false")
    return looks_secret(value)


def looks_secret(value: str) -> bool:
    """Whether a value is or holds a secret.

    That is a known kind of token, a password in an address, or a value whose name stands beside it.
    """
    if PLAIN.fullmatch(value):
        return False
    if TOKEN.search(value) or CREDENTIALS.search(value) or has_secret_address(value):
        return True
    if any(is_secret(name, given) for name, given in PAIR.findall(value)):
        return True
    return LONG_WORD.fullmatch(value) is not None and "." not in value


def has_secret_address(value: str) -> bool:
    """Whether a text is an address with a password, or with a secret among what it asks for."""
    if "://" not in value:
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    if parts.password or (parts.username and parts.scheme.startswith("http")):
        return True
    if TOKEN.search(parts.path) or any(LONG_WORD.fullmatch(word) for word in parts.path.split("/")):
        return True
    asked = f"{parts.query}&{parts.fragment}"
    given = (pair.partition("=") for pair in asked.split("&") if pair)
    return any(value and (NAMES.search(name) or looks_secret(value)) for name, _, value in given)


def is_secret_header(name: str, value: str) -> bool:
    """Whether the value of a header is a secret."""
    if name.lower() in PLAIN_HEADERS:
        return False
    return is_secret(name, value) or " " in value
