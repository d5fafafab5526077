"""The log: one line an event on standard error, as text for people or JSON for programs."""

from __future__ import annotations

import contextvars
import logging
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from ..startup.descriptors import private
from ..startup.printable import shown
from .log_lines import EventRecord, JsonFormatter, MaskingFormatter, TextFormatter

if TYPE_CHECKING:
    import asyncio

    from ..settings.secrets import Secrets


class UnlockedHandler(logging.Handler):
    """A handler without a lock, which a pack's thread could hold for ever."""

    def createLock(self) -> None:
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """As in `logging`, which from Python 3.13 on takes the lock without a look if there is one.

        From 3.12 on a filter may give another event in the place of this one.
        """
        passed = self.filter(record)
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return bool(passed)


class DescriptorLog(UnlockedHandler):
    """Writes to a descriptor, and drops what nobody reads: a log must not stop the host.

    A line that is not longer than `PIECE` is written whole. After `gather`, events
    that tell of nothing amiss, on that loop, wait in `_gathered` for as long as `PAUSE`, where one
    was written just before. They are made into lines together, so that the next call need not wait
    for that, and written together: each write lets go of the interpreter twice. Until then each has
    its context.
    """

    PIECE = 4096
    PATIENCE_MS = 50
    PAUSE = 0.01

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor
        self._patience = self.PATIENCE_MS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._gathered: deque[tuple[logging.LogRecord, contextvars.Context]] = deque()
        self._written_at = 0.0
        self._is_due = False

    def gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write events together that come soon after each other on this loop, which runs here."""
        self._loop, self._thread = loop, threading.get_ident()

    def gather_no_more(self) -> None:
        """Write what was gathered, and each line by itself from now on."""
        self._loop = None
        self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        self._gathered.append((record, contextvars.copy_context()))
        loop = self._loop
        if loop is None or record.levelno > logging.INFO or threading.get_ident() != self._thread:
            self.flush()
        elif not self._is_due:
            self._flush_soon(loop)

    def flush(self) -> None:
        """Write what was gathered, in any thread."""
        if len(self._gathered) > 1 and isinstance(self.formatter, MaskingFormatter):
            # Those of packs are left out: to put them in words may run their code.
            gathered = list(self._gathered)
            self.formatter.mask([record for record, _ in gathered if type(record) is EventRecord])
        piece = b""
        with suppress(IndexError):  # there is nothing left
            while True:
                record, context = self._gathered.popleft()
                line = context.run(self._line, record)
                if len(piece) + len(line) > self.PIECE:
                    self._write(piece)
                    piece = b""
                piece += line
        self._write(piece)

    def _line(self, record: logging.LogRecord) -> bytes:
        """The line of an event; empty where it cannot be made."""
        try:
            return (self.format(record) + "\n").encode("utf-8", "backslashreplace")
        except Exception:
            self.handleError(record)
            return b""

    def _flush_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        rest = self._written_at + self.PAUSE - time.monotonic()
        if rest <= 0:
            self._flush_now()
            return
        self._is_due = True
        loop.call_later(rest, self._flush_now)

    def _flush_now(self) -> None:
        self._is_due = False
        self._written_at = time.monotonic()
        self.flush()

    def _write(self, data: bytes) -> None:
        for start in range(0, len(data), self.PIECE):
            if not self._is_writable(self._patience):
                self._patience = 0  # whoever does not read is waited for once, not each time
                return
            self._patience = self.PATIENCE_MS
            try:
                os.write(self.descriptor, data[start : start + self.PIECE])
            except OSError:
                return  # nobody reads the log any more

    def _is_writable(self, patience_ms: int) -> bool:
        # One of its own for each look: where two threads wait at the same one, `poll` raises.
        waiting = select.poll()
        waiting.register(self.descriptor, select.POLLOUT)
        return bool(waiting.poll(patience_ms))


class HostLogger(logging.Logger):
    """A logger of ours that a pack cannot silence, hold up, or have its own code called from.

    It knows its handler and, for the host's own events, its level; what a pack disables, filters or
    replaces in `logging` counts for everybody else.
    """

    HANDLER: logging.Handler = logging.StreamHandler()
    LEVEL = logging.INFO

    @property
    def disabled(self) -> bool:  # a plain attribute there
        return False

    @disabled.setter
    def disabled(self, value: bool) -> None:
        """Ignore that somebody disables all loggers."""

    def isEnabledFor(self, level: int) -> bool:
        return level >= self.getEffectiveLevel()

    def getEffectiveLevel(self) -> int:
        if self.name.partition(".")[0] == "mcp_host":
            return self.LEVEL
        return max(self.level, logging.WARNING)

    def _log(self, level: int, msg: object, args: Any, *given: Any, **named: Any) -> None:
        """As in `logging`, in fewer steps where an event has no exception: as those of calls."""
        if given or named.keys() - {"extra"}:
            super()._log(level, msg, args, *given, **named)
            return
        record = EventRecord(self.name, level, msg, args, None)
        if named:
            record.__dict__.update(named["extra"] or {})
        self.handle(record)

    def makeRecord(
        self,
        name: str,
        level: int,
        fn: str,
        lno: int,
        msg: object,
        args: Any,
        exc_info: Any,
        func: str | None = None,
        extra: Mapping[str, object] | None = None,
        sinfo: str | None = None,
    ) -> logging.LogRecord:
        record = EventRecord(name, level, msg, args, exc_info)
        record.__dict__.update(extra or {})
        return record

    def handle(self, record: logging.LogRecord) -> None:
        self.HANDLER.emit(record)


OWN = ("mcp_host", "mcp", "uvicorn", "asyncio")
"""The loggers whose events the host's own loop writes, and all below them."""


def keep_ours() -> None:
    """Take the loggers of `OWN` that are there out of reach of what packs do to `logging`.

    Called after `configure`, and again when more is loaded.
    """
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.partition(".")[0] in OWN and type(logger) is logging.Logger:
            logger.__class__ = HostLogger


def write(line: str) -> None:
    """Write a line for a person to standard error, whatever a pack has done to it."""
    write_to(descriptor(), line)


def write_to(descriptor: int, line: str) -> None:
    """Write a line for a person to a descriptor."""
    data = (shown(line) + "\n").encode("utf-8", "backslashreplace")
    try:
        os.write(descriptor, data)
    except OSError:
        return  # nobody reads it


def failed(what: str, error: BaseException) -> None:
    """Write what the host failed at, with its traceback."""
    logging.getLogger("mcp_host").critical(what, exc_info=error)


@contextmanager
def gathering(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have lines of this loop, which runs here, written together where many come."""
    handler = HostLogger.HANDLER
    if not isinstance(handler, DescriptorLog):
        yield
        return
    handler.gather(loop)
    try:
        yield
    finally:
        handler.gather_no_more()


def descriptor() -> int:
    """Return where the log goes, a descriptor."""
    return getattr(HostLogger.HANDLER, "descriptor", 2)


def private_error() -> int:
    """Return a descriptor for standard error that no pack meets by chance."""
    return private(sys.stderr.fileno())


def _handler() -> logging.Handler:
    try:
        return DescriptorLog(private_error())
    except (OSError, ValueError, AttributeError):  # no descriptor behind it, as under a test
        return logging.StreamHandler(sys.stderr)


def configure(level: str, form: Literal["text", "json"], secrets: Secrets) -> None:
    """Send the process's log to standard error; secrets are masked in every line."""
    handler = _handler()
    handler.setFormatter(JsonFormatter(secrets) if form == "json" else TextFormatter(secrets))
    configure_with(handler, level.upper())


def configure_with(handler: logging.Handler, level: int | str) -> None:
    """Send the process's log to a handler of ours; `level` is the least of the host's events."""
    _leave_out_what_is_not_written()
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mcp_host").setLevel(level)
    HostLogger.HANDLER = handler
    HostLogger.LEVEL = logging.getLogger("mcp_host").level


def _leave_out_what_is_not_written() -> None:
    """Have `logging` not look up callers and threads for every line (its HOWTO, "Optimization")."""
    logging._srcfile = None
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False
    if sys.version_info >= (3, 12):
        logging.logAsyncioTasks = False
