"""Files and folders that are there as long as the process that made them, however it ends.

A process holds a lock on each that it has made. What nobody holds a lock on was left by one that
was killed: whoever makes the next of the same name removes it. On Windows all of that is left.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def passing(make: Callable[[], Path], pattern: str) -> Iterator[Path]:
    """Make a file or a folder for the time of a block, and remove what others left of its like.

    `make` makes a new one, of a name that fits the `pattern`; it may be called again.
    """
    path, lock = make(), None
    while (lock := _lock(path)) is None:
        path = make()  # somebody took it for one that was left
    try:
        _remove_left(path.parent, pattern)
        yield path
    finally:
        _remove(path)
        if lock >= 0:
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Hold a lock on a path: a descriptor, or -1 where there are no locks; None if it is gone."""
    if sys.platform == "win32":
        return -1
    import fcntl  # there is none on Windows

    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks: there, nothing is removed either
        fcntl.flock(lock, fcntl.LOCK_EX)
    if path.exists():
        return lock
    os.close(lock)
    return None


def _remove_left(folder: Path, pattern: str) -> None:
    """Remove this user's files and folders of a pattern on which nobody holds a lock."""
    if sys.platform == "win32":
        return
    import fcntl

    for path in folder.glob(pattern):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue  # another's, or gone
        try:
            if os.fstat(lock).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
        except OSError:
            continue  # its process lives
        finally:
            os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
