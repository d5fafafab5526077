"""Descriptors of our own: copies that no pack meets by chance and no child process keeps."""

from __future__ import annotations

import os
import sys

MOST = 4096
"""The highest descriptor in use: the kernel keeps a table as long as the highest is high."""


LOW = 256
"""Numbers that a pack may meet by chance, as one that closes all that it may have inherited."""
ROOM = 32
"""Numbers that must be left beside those that are taken for a moment."""


def private(descriptor: int) -> int:
    """Copy a descriptor to a high number, drawn by lot; programs and forks get it closed.

    A pack that writes to or closes the low numbers, or forks and lives on, does not touch it.
    """
    if sys.platform == "win32":
        return os.dup(descriptor)
    import fcntl

    allowed = os.sysconf("SC_OPEN_MAX")
    top = min(allowed, MOST) if allowed > 0 else MOST
    lowest = top // 2 + int.from_bytes(os.urandom(2), "big") % max(1, top // 4)
    try:
        copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError:  # as where all that are allowed are in use up there
        copy = os.dup(descriptor)
    close_in_forks(copy)
    return copy


def as_if_taken(lowest: int) -> list[int]:
    """Take every free number below this one, so that what is opened then gets a higher one.

    To be closed by `give_back`. Where fewer numbers are allowed, none is taken.
    """
    taken: list[int] = []
    try:
        taken.append(os.open(os.devnull, os.O_RDONLY))
        while taken[-1] < lowest + ROOM:
            taken.append(os.dup(taken[0]))
    except OSError:
        give_back(taken)
    while taken and taken[-1] >= lowest:
        _close(taken.pop())
    return taken


def give_back(taken: list[int]) -> None:
    """Close what `as_if_taken` took."""
    while taken:
        _close(taken.pop())


def above_low(descriptor: int) -> int:
    """Move a descriptor to a number from `LOW` on, which programs do not get; as it is where there
    is none."""
    import fcntl

    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOW)
    except OSError:  # fewer numbers are allowed
        return descriptor
    _close(descriptor)
    return moved


class Spare:
    """Descriptors that are kept for later, when others may have taken all that are allowed."""

    def __init__(self, count: int) -> None:
        self._kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]

    def release(self) -> None:
        """Give them back, for what is opened next."""
        while self._kept:
            _close(self._kept.pop())


_closed_in_forks: dict[int, tuple[int, int]] = {}
"""Each with the device and inode that it has: its number may be another's by the time of a fork."""


def close_in_forks(descriptor: int) -> None:
    """Have the copy of this process that `os.fork` makes begin without a descriptor."""
    if not _closed_in_forks and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_all)  # once: it cannot be taken back
    try:
        found = os.fstat(descriptor)
    except OSError:  # whoever had it has closed it meanwhile
        return
    _closed_in_forks[descriptor] = found.st_dev, found.st_ino


def _close_all() -> None:
    for descriptor, was in _closed_in_forks.items():
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == was:
            _close(descriptor)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return
