"""Answers of commands that only read, kept by a digest of everything they are made from.

A command that is run again on a tree that is the same costs what reading the tree costs. The
digest is of the command line, the release, the content of every file of the tree, and what git
has at the moment; archived changes and git's own files count by their time stamps. Answers lie in
the person's cache folder, where nobody else may read them. `OPENSPEC_CACHE=0` turns this off.

Only `os`, `sys` and `hashlib` are imported here: whatever else would cost more than it saves.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

from .. import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

COMMANDS = ("list", "show", "validate", "status", "instructions")
"""The commands whose answers are kept."""

_VARIABLES = ("OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT", "OPENSPEC_CACHE")
_NOT_KEPT = ("--project", "--store", "--archived")
_MOST = 200
_LARGEST = 8 * 1024 * 1024
_HEAD = b"openspec answer 1 %d %d\n"


def answered(arguments: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """Run a command, or print what it said before where all that it reads is the same."""
    path = _place(arguments)
    if path is None:
        return run(arguments)
    if (code := _replay(path)) is not None:
        return code
    out, err = _Tee(sys.stdout), _Tee(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        code = run(arguments)
    finally:
        sys.stdout, sys.stderr = out.stream, err.stream
    if path == _place(arguments):  # nothing was edited meanwhile
        _keep(path, code, out.text(), err.text())
    return code


class _Tee:
    """Writes to a stream, and remembers."""

    def __init__(self, stream: object) -> None:
        self.stream = stream
        self._parts: list[str] = []

    def write(self, text: str) -> int:
        self._parts.append(text)
        return self.stream.write(text)  # type: ignore[attr-defined, no-any-return]

    def text(self) -> bytes:
        return "".join(self._parts).encode("utf-8", "surrogatepass")

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def _replay(path: str) -> int | None:
    """Print a kept answer; its exit code, or None where there is none."""
    try:
        with open(path, "rb") as file:
            data, owner = file.read(), os.fstat(file.fileno()).st_uid
        head, body = data.split(b"\n", 1)
        code, length = map(int, head.removeprefix(b"openspec answer 1 ").split())
        out, err = (
            part.decode("utf-8", "surrogatepass") for part in (body[:length], body[length:])
        )
        if owner != getattr(os, "getuid", lambda: owner)():
            return None  # somebody else's words
        os.utime(path)
    except (OSError, ValueError):
        return None
    sys.stderr.write(err)
    try:
        sys.stdout.write(out)
        sys.stdout.flush()
    except OSError:
        return None  # told of by running the command
    return code


def _keep(path: str, code: int, out: bytes, err: bytes) -> None:
    """Write an answer; where that cannot be done, the next run works it out again."""
    if code not in (0, 1) or len(out) + len(err) > _LARGEST:
        return
    folder = os.path.dirname(path)
    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_HEAD % (code, len(out)) + out + err)
        os.replace(draft, path)
        _forget_old(folder)
    except OSError:
        return


def _forget_old(folder: str) -> None:
    """Keep the answers that were used last."""
    entries = list(os.scandir(folder))
    if len(entries) <= _MOST:
        return
    entries.sort(key=lambda entry: entry.stat().st_mtime)
    for entry in entries[: len(entries) - _MOST // 2]:
        os.unlink(entry.path)


def _place(arguments: Sequence[str]) -> str | None:
    """Where the answer to a command line is kept; None where it must be worked out."""
    environment = os.environ
    home, root = environment.get("HOME"), _root(os.getcwd())
    cache = environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    if (
        cache is None
        or root is None
        or environment.get("OPENSPEC_CACHE") == "0"
        or environment.get("OPENSPEC_ROOT")
        or any(one.startswith(_NOT_KEPT) for one in arguments)
        or (arguments[0] == "list" and "--json" not in arguments)  # it says how long ago
    ):
        return None
    digest = sha256()
    try:
        for part in _read(root, arguments):
            digest.update(b"%d:" % len(part))
            digest.update(part)
    except OSError:
        return None
    return f"{cache}/mcp-host-openspec/answers/{digest.hexdigest()}"


def _root(folder: str) -> str | None:
    """The nearest folder upwards with a tree, by the rule of `storage.roots`."""
    while True:
        tree = f"{folder}/openspec"
        if os.path.isdir(tree) and (
            os.path.isdir(f"{tree}/specs")
            or os.path.isdir(f"{tree}/changes")
            or os.path.exists(f"{tree}/config.yaml")
            or os.path.exists(f"{tree}/config.yml")
        ):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _read(root: str, arguments: Sequence[str]) -> Iterator[bytes]:
    """Everything that an answer is made from."""
    environment = os.environ
    yield __version__.encode()
    package = os.path.dirname(os.path.dirname(__file__))
    yield from _folder(package, contents=False)
    yield os.getcwdb()
    for text in (root, *arguments, *(environment.get(name, "") for name in _VARIABLES)):
        yield os.fsencode(text)
    data = environment.get("XDG_DATA_HOME") or f"{environment.get('HOME')}/.local/share"
    for folder in (f"{root}/openspec", f"{data}/openspec/schemas"):
        if os.path.isdir(folder):
            yield from _folder(folder, contents=True)
    yield from _git(root)


def _folder(folder: str, *, contents: bool) -> Iterator[bytes]:
    """What a folder holds: names, time stamps, and the content of files."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        yield os.fsencode(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if entry.name == "__pycache__":
                continue
            yield from _stamps(entry.stat(follow_symlinks=False))
            is_archive = entry.name == "archive" and folder.endswith("/changes")
            yield from _folder(entry.path, contents=contents and not is_archive)
            continue
        yield from _stamps(entry.stat(follow_symlinks=False))
        if entry.is_symlink():
            yield os.fsencode(os.readlink(entry.path))
            if not os.path.isfile(entry.path):
                raise OSError  # what lies behind it is not looked into here
        if contents and entry.is_file():
            with open(entry.path, "rb") as file:
                yield file.read()


def _stamps(status: os.stat_result) -> Iterator[bytes]:
    yield b"%d %d %d" % (status.st_mode, status.st_size, status.st_mtime_ns)


def _git(folder: str) -> Iterator[bytes]:
    """What git has checked out above a folder, and staged; nothing where there is no git."""
    while not os.path.lexists(f"{folder}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent
    git = f"{folder}/.git"
    if os.path.isfile(git):
        with open(git, encoding="utf-8") as file:
            git = os.path.join(folder, file.read().partition("gitdir:")[2].strip())
    common = git
    if os.path.exists(f"{git}/commondir"):
        with open(f"{git}/commondir", encoding="utf-8") as file:
            common = os.path.join(git, file.read().strip())
    with open(f"{git}/HEAD", "rb") as file:
        head = file.read()
    yield head
    branch = f"{common}/{os.fsdecode(head).partition('ref:')[2].strip()}"
    names = ("packed-refs", "logs/HEAD", "reftable/tables.list")
    for path in (branch, f"{git}/index", *(f"{common}/{name}" for name in names)):
        if os.path.isfile(path):
            status = os.stat(path)
            yield os.fsencode(path)
            yield b"%d %d %d" % (status.st_size, status.st_mtime_ns, status.st_ino)
