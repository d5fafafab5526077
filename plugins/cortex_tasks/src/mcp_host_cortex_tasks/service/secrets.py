"""What looks like a secret, in files that are to be committed and in commits that are to be pushed.

Tokens are known by the shapes that their makers publish; passwords in YAML, by a value that nobody
would write as an example. What is read is read in pieces of a fixed size, to its end.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from ..storage.git import Checkout

ALLOWED = ".cortex-secrets-allow"
PIECE = 1024 * 1024
OVERLAP = 4096  # longer than any shape below can be

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
_SHAPES = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36,255}\b"
    rb"|\bgithub_pat_[A-Za-z0-9_]{50,255}"
    rb"|\bglpat-[A-Za-z0-9_-]{20,255}"
    rb"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    rb"|(?i:aws[A-Za-z_.-]{0,20}(?:secret|access)[A-Za-z_.-]{0,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
    rb"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
    rb"|\bxox[abeprs]-[A-Za-z0-9-]{20,255}"
    rb"|hooks\.slack\.com/services/T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40}"
    rb"|\bsk-ant-[A-Za-z0-9_-]{20,255}"
    rb"|\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,255}"
    rb"|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"
    rb"|\b[sr]k_live_[A-Za-z0-9]{16,255}"
    rb"|\bnpm_[A-Za-z0-9]{36}\b"
    rb"|:_authToken\s{0,4}=\s{0,4}[\"']?[A-Za-z0-9_-][^\s\"'$]{15,255}"
    rb"|\bpypi-AgE[A-Za-z0-9_-]{50,255}"
    rb"|\bhf_[A-Za-z0-9]{30,64}\b"
    rb"|\bAIza[0-9A-Za-z_-]{35}\b"
    rb"|\bGOCSPX-[A-Za-z0-9_-]{28}\b"
    rb"|\bya29\.[A-Za-z0-9_-]{30,255}"
    rb"|\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"
    rb"|\bdop_v1_[a-f0-9]{64}\b"
    rb"|\beyJhbGciOi[A-Za-z0-9_-]{8,512}\.eyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{20,512}"
)
_PASSWORD = re.compile(
    rb"(?im)^[ \t-]{0,40}[\"']?[A-Za-z0-9_.-]{0,40}passw(?:or)?d[\"']?[ \t]{0,4}:[ \t]{1,4}"
    rb"[\"']?([^\s\"'#{}$<>*!&|%]{6,128})"
)
_EXAMPLES = re.compile(rb"(?i)example|change|secret|passw|dummy|sample|test|placeholder|your|xxx")
_YAML = (".yml", ".yaml")
_NOT_REAL = frozenset({"test", "tests", "testing", "spec", "specs", "fixtures", "examples", "docs"})


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
    commit = path = ""
    command = (
        "log", "-p", "-a", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--no-show-signature", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/",
        "--format=commit %H", *which, "--",
    )  # fmt: skip
    header = new = True
    for line in git.lines(*command, longest=PIECE):
        if line.startswith(b"commit ") and len(line.strip()) in (47, 71):
            commit, header = line[7:].strip().decode("ascii", "replace"), True
        elif line.startswith(b"diff --git "):
            header, new = True, False
        elif header and line.startswith(b"new file mode "):
            new = True
        elif header and line.startswith(b"+++ b/"):
            path = line[6:].rstrip(b"\t\r\n").decode("utf-8", "replace")
            if new and (why := _by_name(path)):
                found.setdefault(path, Finding(path, why, _fingerprint(path.encode()), commit))
        elif line.startswith(b"@@"):
            header = False
        elif header or path in found or not line.startswith(b"+"):
            continue
        elif secret := _secret_in(line[1:], path):
            found[path] = Finding(path, "by its content", _fingerprint(secret), commit)
    return list(found.values())


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
                if secret := _secret_in(before + piece, path):
                    return Finding(path, "by its content", _fingerprint(secret))
                before = piece[-OVERLAP:]
    except OSError:
        return None
    return None


def _by_name(path: str) -> str | None:
    name = PurePosixPath(path).name.lower()
    if any(fnmatchcase(name, shape) for shape in _HARMLESS):
        return None
    return "by its name" if any(fnmatchcase(name, shape) for shape in _NAMES) else None


def _secret_in(data: bytes, path: str) -> bytes | None:
    for text in _readings(data):
        if shape := _SHAPES.search(text):
            return shape[0]
        for password in _PASSWORD.finditer(text) if _is_configuration(path) else ():
            value = password[1]
            mixed = re.search(rb"[A-Za-z]", value) and re.search(rb"[0-9]", value)
            if mixed and not _EXAMPLES.search(value):
                return value
    return None


def _readings(data: bytes) -> Iterator[bytes]:
    """Yield the bytes as they are, and as UTF-16 where they may be that."""
    yield data
    if b"\0" in data:
        yield data.replace(b"\0", b"")


def _is_configuration(path: str) -> bool:
    parts = PurePosixPath(path.lower())
    return parts.suffix in _YAML and not _NOT_REAL & set(parts.parts)


def _fingerprint(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()[:16]
