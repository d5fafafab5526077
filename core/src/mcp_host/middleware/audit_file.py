"""The file of the audit: appended to by a thread of its own, turned over when it is full."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows: one host alone may write there
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("mcp_host")

WAITING = 10_000
"""Records that wait for the disk; what comes on top is lost, and said to be."""
PIECE = 256 * 1024
"""About as many bytes are written at once."""
LAST = 2.0
"""Seconds that the end of the host waits for the last records."""


class AuditFile:
    """Appends whole lines to a file that only its owner may read; several hosts may share one.

    A file of more than `max_bytes` becomes `FILE.1`, the one before it `FILE.2`, and so on; the
    newest `keep` of these stay. A disk that takes nothing stops nothing: the records are lost, and
    the log says once how many when it takes some again, or at the end.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._lines: deque[bytes] = deque()
        self._lost = 0
        self._is_failing = False
        self._is_ended = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Have a line written soon; returns at once."""
        with self._changed:
            if len(self._lines) >= WAITING:
                self._lost += 1
                return
            self._lines.append(line)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Write what waits, within some seconds."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST)

    def _run(self) -> None:
        while lines := self._next():
            try:
                with self._opened() as file:
                    _append(file, b"".join(lines))
            except OSError as error:
                self._failed(error, len(lines))
            else:
                self._succeeded()
        if self._lost:
            log.warning("audit: %d records are lost", self._lost)

    def _next(self) -> list[bytes]:
        """The lines that wait, some of them where there are many; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._is_ended)
            lines, size = [], 0
            while self._lines and size < PIECE:
                lines.append(self._lines.popleft())
                size += len(lines[-1])
            return lines

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

    def _failed(self, error: OSError, records: int) -> None:
        with self._changed:
            self._lost += records
        if not self._is_failing:
            self._is_failing = True
            log.error("audit: %s cannot be written: %s", self._path, error.strerror or error)

    def _succeeded(self) -> None:
        if self._is_failing:
            self._is_failing = False
            with self._changed:
                lost, self._lost = self._lost, 0
            log.warning("audit: %s is written again; %d records are lost", self._path, lost)


def _append(file: int, data: bytes) -> None:
    """Append all of the data or none of it, so that every line in the file is whole."""
    before = os.fstat(file).st_size
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, before)
        raise
