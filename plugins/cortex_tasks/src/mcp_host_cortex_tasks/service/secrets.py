"""Which files look as if they held a secret, and so are not committed unasked."""

import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

_NAMES = (
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    "credentials.json",
    "service-account*.json",
    "secrets.*",
)
_HARMLESS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub", "secrets.py")
_CONTENTS = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    rb"|\bgithub_pat_[A-Za-z0-9_]{50,}"
    rb"|\bglpat-[A-Za-z0-9_-]{20}"
    rb"|\bAKIA[0-9A-Z]{16}\b"
    rb"|\bxox[abpr]-[A-Za-z0-9-]{20,}"
)
LOOKED_AT = 1024 * 1024


def looks_secret(root: Path, path: str) -> str | None:
    """Return why the file at `path` under `root` looks like a secret, None when it does not."""
    name = PurePosixPath(path).name.lower()
    harmless = any(fnmatchcase(name, shape) for shape in _HARMLESS)
    if not harmless and any(fnmatchcase(name, shape) for shape in _NAMES):
        return "by its name"
    try:
        with (root / path).open("rb") as file:
            return "by its content" if _CONTENTS.search(file.read(LOOKED_AT)) else None
    except OSError:
        return None  # deleted, a folder or a link to nowhere: nothing to read
