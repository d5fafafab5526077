"""A file that is appended to, and turned over when it is full."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows: one host alone may write there
    fcntl = None  # type: ignore[assignment]


class TurnedFile:
    """A file that only its owner may read; several processes may share it, one thread of each.

    One of more than `max_bytes` becomes `FILE.1`, the one before it `FILE.2`, and so on; the newest
    `keep` of these stay.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep

    def append(self, data: bytes) -> None:
        """Append all of the data or none of it, so that every line in the file is whole."""
        with self._opened() as file:
            before = os.fstat(file).st_size
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(file, rest) :]
            except OSError:
                os.ftruncate(file, before)
                raise

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file to append to, locked against other hosts; turned over where it is full."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                if not self._is_current(file):
                    continue  # another host has turned it over meanwhile
                if os.fstat(file).st_size >= self._max_bytes:
                    self._turn_over()
                    continue
                yield file
                return
            finally:
                os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _turn_over(self) -> None:
        """Give every file the next number, the last of them up; the lock is held."""
        for number in range(self._keep, 0, -1):
            older = self._path if number == 1 else self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        self._path.unlink(missing_ok=True)  # where none are kept

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
