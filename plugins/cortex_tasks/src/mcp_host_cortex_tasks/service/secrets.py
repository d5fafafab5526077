"""What looks like a secret, in files that are to be committed and in commits that are to be pushed.

What is read is read in pieces of a fixed size, to its end.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from ..storage.git import Checkout
from .detector import is_made_up, secret_in

ALLOWED = ".cortex-secrets-allow"
PIECE = 1024 * 1024
OVERLAP = 4096  # longer than any secret that we know

_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".htpasswd",
    "*.tfstate",
    "*.tfstate.backup",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    "credentials.json",
    "service-account*.json",
    "secrets.*",
)
_HARMLESS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub", "secrets.py")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks like a secret. `fingerprint` is its name in the allow-list."""

    path: str
    why: str
    fingerprint: str
    commit: str | None = None

    def as_data(self) -> dict[str, str]:
        """Return it as plain data; the secret itself is not in it."""
        data = {"path": self.path, "why": self.why, "fingerprint": self.fingerprint}
        return data | ({"commit": self.commit} if self.commit else {})


def allowed_by(git: Checkout, commit: str) -> frozenset[str]:
    """Return the paths and fingerprints that a commit's allow-list names, one a line."""
    out = git.run("show", f"{commit}:{ALLOWED}")
    lines = (line.strip() for line in out.out.splitlines()) if out.ok else ()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def in_files(root: Path, paths: Iterable[str]) -> list[Finding]:
    """Return what looks like a secret in the files of a tree, one finding a file."""
    found = (_in_file(root, path) for path in paths)
    return [one for one in found if one is not None]


def in_commits(git: Checkout, *which: str) -> list[Finding]:
    """Return what looks like a secret in the lines that commits add, one finding a file."""
    found: dict[str, Finding] = {}
    for one in _added_by(git, *which):
        if one.path in found:
            continue
        if one.begins and (why := _by_name(one.path)):
            found[one.path] = Finding(one.path, why, _fingerprint(one.path.encode()), one.commit)
        elif secret := secret_in(bytes(one.text), one.path):
            found[one.path] = Finding(one.path, "by its content", _fingerprint(secret), one.commit)
    return list(found.values())


@dataclass(slots=True)
class _Added:
    """A piece of what a commit adds to a file; `begins` in the first one of a file that is new."""

    commit: str
    path: str
    begins: bool
    text: bytearray = field(default_factory=bytearray)


def _added_by(git: Checkout, *which: str) -> Iterator[_Added]:
    """Yield the lines that commits add, in pieces of a fixed size that overlap."""
    command = (
        "log", "-p", "-a", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--no-show-signature", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/",
        "--format=commit %H", *which, "--",
    )  # fmt: skip
    commit, header, new, goes_on, is_added = "", True, False, False, False
    now: _Added | None = None
    for line in git.lines(*command, longest=PIECE):
        starts, goes_on = not goes_on, not line.endswith(b"\n")
        if starts and line.startswith(b"commit ") and len(line.strip()) in (47, 71):
            commit, header = line[7:].strip().decode("ascii", "replace"), True
        elif starts and line.startswith(b"diff --git "):
            header, new = True, False
            if now is not None:
                yield now
                now = None
        elif starts and header and line.startswith(b"new file mode "):
            new = True
        elif starts and header and line.startswith(b"+++ b/"):
            path = line[6:].rstrip(b"\t\r\n").decode("utf-8", "replace")
            now = _Added(commit, path, new)
        elif starts and line.startswith(b"@@"):
            header = False
        elif now is not None and not header:
            is_added = line.startswith(b"+") if starts else is_added
            if is_added:
                now.text += line[1:] if starts else line
            if len(now.text) >= PIECE:
                yield now
                now = _Added(commit, now.path, False, now.text[-OVERLAP:])
    if now is not None:
        yield now


def _in_file(root: Path, path: str) -> Finding | None:
    if why := _by_name(path):
        return Finding(path, why, _fingerprint(path.encode()))
    place = root / path
    if place.is_symlink() or not place.is_file():
        return None  # deleted, a folder or a link: nothing of it is committed but its name
    try:
        with place.open("rb") as file:
            before = b""
            while piece := file.read(PIECE):
                if secret := secret_in(before + piece, path):
                    return Finding(path, "by its content", _fingerprint(secret))
                before = piece[-OVERLAP:]
    except OSError:
        return None
    return None


def _by_name(path: str) -> str | None:
    name = PurePosixPath(path).name.lower()
    if any(fnmatchcase(name, shape) for shape in _HARMLESS) or is_made_up(path):
        return None
    return "by its name" if any(fnmatchcase(name, shape) for shape in _NAMES) else None


def _fingerprint(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()[:16]
