"""What was worked out from a whole tree, kept by a digest of everything that it is made from.

The digest is of the release, of what was asked, of the content of every file of the tree, and of
what git has at the moment; archived changes and git's own files count by their time stamps. What is
kept lies in the person's cache folder, where nobody else may read it.

Only `os` and `hashlib` are imported here: whatever else would cost more than it saves.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from .. import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST = 200
_LARGEST = 8 * 1024 * 1024


class Kept:
    """What is kept in one folder: the pieces that were used last, each under a digest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, digest: str) -> bytes | None:
        """What is kept under the digest; None where there is nothing of this person's."""
        path = f"{self._folder}/{digest}"
        try:
            with open(path, "rb") as file:
                data, owner = file.read(), os.fstat(file.fileno()).st_uid
            if owner != getattr(os, "getuid", lambda: owner)():
                return None  # somebody else's words
            os.utime(path)
        except OSError:
            return None
        return data

    def write(self, digest: str, data: bytes) -> None:
        """Keep this; where that cannot be done, it is worked out again the next time."""
        if len(data) > _LARGEST:
            return
        path = f"{self._folder}/{digest}"
        draft = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.replace(draft, path)
            self._forget_old()
        except OSError:
            return

    def _forget_old(self) -> None:
        entries = list(os.scandir(self._folder))
        if len(entries) <= _MOST:
            return
        entries.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in entries[: len(entries) - _MOST // 2]:
            os.unlink(entry.path)


def digest_of(asked: Iterable[str], root: str, folders: Iterable[str]) -> str | None:
    """The digest of what an answer is made from: what was asked of the project at the root.

    `folders` are all that is read: its tree, and the schemas of the user. None where not all can be
    read, or a symbolic link leads to a folder, into which nobody looks here.
    """
    digest = sha256()
    try:
        for part in _read(asked, root, folders):
            digest.update(b"%d:" % len(part))
            digest.update(part)
    except OSError:
        return None
    return digest.hexdigest()


def _read(asked: Iterable[str], root: str, folders: Iterable[str]) -> Iterator[bytes]:
    yield __version__.encode()
    package = os.path.dirname(os.path.dirname(__file__))
    yield from _folder(package, contents=False)
    for text in (root, *asked):
        yield os.fsencode(text)
    for folder in folders:
        if os.path.isdir(folder):
            yield from _folder(folder, contents=True)
    yield from _git(root)


def _folder(folder: str, *, contents: bool) -> Iterator[bytes]:
    """What a folder holds: names, time stamps, and the content of files."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        yield os.fsencode(entry.path)
        status = entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            if entry.name == "__pycache__":
                continue
            yield _stamps(status)
            is_archive = entry.name == "archive" and folder.endswith("/changes")
            yield from _folder(entry.path, contents=contents and not is_archive)
            continue
        yield _stamps(status)
        if entry.is_symlink():
            yield os.fsencode(os.readlink(entry.path))
            if not os.path.isfile(entry.path):
                raise OSError  # what lies behind it is not looked into here
        if not contents:
            yield b"%d %d" % (status.st_ctime_ns, status.st_ino)
        elif entry.is_file():
            with open(entry.path, "rb") as file:
                yield file.read()


def _stamps(status: os.stat_result) -> bytes:
    return b"%d %d %d" % (status.st_mode, status.st_size, status.st_mtime_ns)


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
