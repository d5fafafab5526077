"""The file of the audit, which a thread of its own writes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from pathlib import Path

from .turned_file import TurnedFile

log = logging.getLogger("mcp_host")

WAITING = 10_000
"""Records that wait for the disk; what comes on top is lost, and said to be."""
PIECE = 256 * 1024
"""About as many bytes are written at once."""
LAST = 2.0
"""Seconds that the end of the host waits for the last records."""


class AuditFile:
    """Appends whole lines to a file that only its owner may read; several hosts may share one.

    One of more than `max_bytes` is turned over, and the newest `keep` full ones stay. A disk that
    takes nothing stops nothing: the records are lost, and the log says once how many when it takes
    some again, or at the end.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self._path = path
        self._file = TurnedFile(path, max_bytes, keep)
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
                self._file.append(b"".join(lines))
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
