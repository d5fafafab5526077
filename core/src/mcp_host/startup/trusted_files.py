"""The files that trusted settings run or read as code, and whether they are as they were.

Which files settings name is found once, when they are trusted; here is told what each is now.
"""

from __future__ import annotations

import os
import stat

from .digests import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIXES = frozenset(
    (
        *(".bash", ".bat", ".cjs", ".cmd", ".dll", ".dylib", ".exe", ".fish", ".jar", ".js"),
        *(".jsx", ".lua", ".mjs", ".php", ".pl", ".ps1", ".psm1", ".py", ".pyc", ".pyw", ".pyz"),
        *(".rb", ".sh", ".so", ".ts", ".tsx", ".wasm", ".zsh"),
    )
)
"""What the name of a file ends in that is read as code, be it marked as executable or not."""
MAGIC = (b"#!", b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
"""What a program begins with."""
MAINS = ("__main__.py", "index.js")
"""What is run of a folder."""


def states(runs: Iterable[str], names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """The digest of each file; None where it is not there, or is no code.

    `runs` are run whatever they are, `names` only where they are code: what else settings name is
    data, and may change.
    """
    return {
        "runs": {path: _digest(path) for path in runs},
        "names": {path: _digest(path) if _is_code(path) else None for path in names},
    }


def changed(recorded: dict[str, dict[str, str | None]]) -> list[str]:
    """The files that are not as they were when this was recorded."""
    now = states(recorded["runs"], recorded["names"])
    return [
        path for kind in now for path, digest in now[kind].items() if recorded[kind][path] != digest
    ]


def _is_code(path: str) -> bool:
    if os.path.splitext(path)[1].lower() in SUFFIXES:
        return True
    try:
        if os.path.isdir(path):
            return any(os.path.isfile(os.path.join(path, main)) for main in MAINS)
        with _opened(path) as file:
            return bool(file.read(4).startswith(MAGIC))
    except OSError:
        return False


def _digest(path: str) -> str | None:
    whole = sha256()
    try:
        if os.path.isdir(path):
            found = [_digest(os.path.join(path, main)) for main in MAINS]
            return "/".join(str(digest) for digest in found) if any(found) else None
        with _opened(path) as file:
            while part := file.read(1 << 20):
                whole.update(part)
    except OSError:
        return None
    return whole.hexdigest()


def _opened(path: str):  # type: ignore[no-untyped-def]  # a file; typing is not imported here
    """A regular file, open to be read; whatever else stands there is none."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("this is no file")
    return os.fdopen(handle, "rb")
