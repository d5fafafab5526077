"""The log: one line an event on standard error, as text for people or JSON for programs."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..middleware.request_id import current_call

if TYPE_CHECKING:
    from ..settings.secrets import Secrets


@lru_cache(maxsize=4)
def _second(moment: int) -> str:
    """A time in whole seconds, as `2026-01-31T12:00:00`; many lines share one."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record), ensure_ascii=False, default=str)

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """`time, level, event, request_id, pack, tool, caller, code, ms`, those that are known."""
        fields: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03}+00:00",
            "level": record.levelname.lower(),
            "event": self._secrets.redact(record.getMessage()),
            "logger": record.name,
        }
        call = current_call.get()
        if call is not None:
            fields["request_id"] = call.context.request_id
            fields[call.kind] = call.name[:200]
            if call.entry is not None:
                fields["pack"] = call.entry.pack
            if call.context.caller.subject is not None:
                fields["caller"] = call.context.caller.subject
        for key in ("pack", "code", "ms"):
            if hasattr(record, key):
                fields[key] = getattr(record, key)
        if record.exc_info:
            fields["traceback"] = self._secrets.redact(self.formatException(record.exc_info))
        elif trace := getattr(record, "traceback", ""):  # made on a pack's side
            fields["traceback"] = self._secrets.redact(trace)
        return fields


class TextFormatter(logging.Formatter):
    """Time, level, event, and the request id where there is one."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        moment = f"{_second(int(record.created))[11:]}.{int(record.msecs):03}"
        event = _printable(self._secrets.redact(record.getMessage()))
        text = f"{moment} {record.levelname:7} {event}"
        call = current_call.get()
        if call is not None:
            text += f"  [{call.context.request_id}]"
        if record.exc_info:
            text += "\n" + self._secrets.redact(self.formatException(record.exc_info))
        elif trace := getattr(record, "traceback", ""):  # made on a pack's side
            text += "\n" + self._secrets.redact(trace)
        return text


def _printable(text: str) -> str:
    """One line of text that cannot move a terminal's cursor: a client chooses names in it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _Stderr(logging.Handler):
    """Writes to standard error, and drops what nobody reads: a log must not stop the host."""

    PIECE = 4096
    PATIENCE_MS = 50

    def __init__(self) -> None:
        super().__init__()
        self._descriptor = sys.stderr.fileno()
        self._writable = select.poll()
        self._writable.register(self._descriptor, select.POLLOUT)
        self._patience = self.PATIENCE_MS

    def emit(self, record: logging.LogRecord) -> None:
        try:
            data = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            for start in range(0, len(data), self.PIECE):
                if not self._writable.poll(self._patience):
                    self._patience = 0  # whoever does not read is waited for once, not each time
                    return
                self._patience = self.PATIENCE_MS
                os.write(self._descriptor, data[start : start + self.PIECE])
        except OSError:
            return  # nobody reads the log any more
        except Exception:
            self.handleError(record)


def _handler() -> logging.Handler:
    try:
        return _Stderr() if hasattr(select, "poll") else logging.StreamHandler(sys.stderr)
    except (OSError, ValueError, AttributeError):  # no descriptor behind it, as under a test
        return logging.StreamHandler(sys.stderr)


def configure(level: str, form: Literal["text", "json"], secrets: Secrets) -> None:
    """Send the process's log to standard error; secrets are masked in every line."""
    _leave_out_what_is_not_written()
    handler = _handler()
    handler.setFormatter(JsonFormatter(secrets) if form == "json" else TextFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mcp_host").setLevel(level.upper())


def _leave_out_what_is_not_written() -> None:
    """Have `logging` not look up callers and threads for every line (its HOWTO, "Optimization")."""
    logging._srcfile = None
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False
    if sys.version_info >= (3, 12):
        logging.logAsyncioTasks = False
