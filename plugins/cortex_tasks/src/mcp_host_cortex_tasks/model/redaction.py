"""No secret leaves in an output, a log or an error."""

import re
from collections.abc import Iterable

HIDDEN = "***"

_LOOKS_SECRET = (
    # The password of a URL, then tokens whose shape their makers publish.
    (re.compile(r"(?<=://)[^/\s@'\"]+(?=@)"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|token)(\s+)[A-Za-z0-9._~+/=-]{16,}"), rf"\1\2{HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"), HIDDEN),
    (
        re.compile(
            r"(?i)\b(private[-_]token|access_token|password)([\"']?\s*[:=]\s*[\"']?)[^\s\"'&,}]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without the given secrets and without anything that looks like one."""
    for secret in secrets:
        if len(secret) >= 4:  # shorter ones would blank ordinary words
            text = text.replace(secret, HIDDEN)
    for shape, instead in _LOOKS_SECRET:
        text = shape.sub(instead, text)
    return text


def redact_all(value: object, secrets: Iterable[str] = ()) -> object:
    """Return plain data with every string in it redacted."""
    secrets = tuple(secrets)
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {key: redact_all(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(item, secrets) for item in value]
    return value
