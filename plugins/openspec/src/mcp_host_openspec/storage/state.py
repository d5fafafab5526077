"""What tells whether anything about a change is different from when it was last looked at."""

import os
import stat
import time
from pathlib import Path
from typing import Final

from .files import Identity, is_settled

State = tuple[object, ...]

_RECENT_NS: Final = 3_000_000_000


class _UnsureError(Exception):
    """Nothing tells whether this will still be the same."""


def state_of(
    change: Path, specs: Path, shared: tuple[Path, ...], lists: tuple[Path, ...]
) -> State | None:
    """The state of a change's folder, of the specs it is about and of what all changes share.

    `shared` are files, and folders with all that is in them; of `lists` only the names count.

    None where that is not to be relied on: something was written just now and may be written
    again without a new time stamp, or a symbolic link leads elsewhere.
    """
    now = time.time_ns()
    seen: list[object] = []
    top = str(change)
    try:
        _look(top, seen, now)
        for entry in list(seen):
            assert isinstance(entry, tuple)
            relative = str(entry[0])[len(top) + 1 :]
            if relative.startswith("specs/") and relative.endswith("/spec.md"):
                seen.append(_one(f"{specs}/{relative[6:]}", now))
        for path in shared:
            seen.append(_one(str(path), now))
            if os.path.isdir(path):  # noqa: PTH112 (hot path)
                _look(str(path), seen, now)
        for path in lists:
            seen.append(_one(str(path), now))
    except (OSError, _UnsureError):
        return None
    return tuple(seen)


def state_of_all(folders: tuple[Path, ...]) -> State | None:
    """The state of whole folders, by the same rule; one that is not there counts as empty."""
    now = time.time_ns()
    seen: list[object] = []
    waiting = [str(folder) for folder in folders]
    try:
        while waiting:
            here = waiting.pop()
            try:
                entries = list(os.scandir(here))
            except FileNotFoundError:
                seen.append(here)
                continue
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                newest = max(status.st_mtime_ns, status.st_ctime_ns)
                if stat.S_ISLNK(status.st_mode) or (
                    now - newest < _RECENT_NS and not is_settled(status, now)
                ):
                    return None
                seen.append((entry.path, status.st_mode, status.st_size, newest, status.st_ino))
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
    except OSError:
        return None
    return tuple(seen)


def _look(folder: str, seen: list[object], now: int) -> None:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        seen.append(_one(here, now))
        for entry in os.scandir(here):
            if entry.is_symlink():
                raise _UnsureError
            if entry.is_dir():
                waiting.append(entry.path)
            else:
                seen.append(_entry(entry.path, entry.stat(), now))


def _one(path: str, now: int) -> object:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path
    if os.path.islink(path):  # noqa: PTH114 (hot path)
        raise _UnsureError
    return _entry(path, status, now)


def _entry(path: str, status: os.stat_result, now: int) -> tuple[object, ...]:
    if not is_settled(status, now):
        raise _UnsureError
    return path, status.st_mode, Identity.of(status)
