"""The lines of the log: what is told of an event, as text or JSON, with secrets masked."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..middleware.request_id import current_call
from ..startup.printable import shown

if TYPE_CHECKING:
    from ..settings.secrets import Secrets


class EventRecord(logging.LogRecord):
    """An event that knows no place in the code, which costs `logging` more than all else of it."""

    pathname = filename = "(unknown file)"
    module = "Unknown module"
    lineno = 0
    funcName = "(unknown function)"
    exc_text = stack_info = None
    masked: str | None = None
    thread = threadName = process = processName = taskName = None

    def __init__(self, name: str, level: int, msg: object, args: Any, exc_info: Any) -> None:
        self.name = name
        self.msg = msg
        is_table = args and len(args) == 1 and isinstance(args[0], Mapping)
        self.args = args[0] if is_table else args  # as `logging` does for "%(name)s"
        self.levelno = level
        self.levelname = logging.getLevelName(level)
        self.exc_info = exc_info
        self.created = time.time()
        self.msecs = self.created % 1 * 1000


@lru_cache(maxsize=4)
def _second(moment: int) -> str:
    """A time in whole seconds, as `2026-01-31T12:00:00`; many lines share one."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class MaskingFormatter(logging.Formatter):
    """What both formats do with secrets: what an event says has them masked."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def mask(self, records: Sequence[EventRecord]) -> None:
        """Mask what events of the host say, before they are formatted: secrets may be many."""
        try:
            masked = self._secrets.redact_each([record.getMessage() for record in records])
        except Exception:  # one of them cannot be put in words, which is told where it is formatted
            return
        for record, event in zip(records, masked, strict=True):
            record.masked = event

    def event(self, record: logging.LogRecord) -> str:
        """Return what an event says."""
        if type(record) is EventRecord and record.masked is not None:
            return record.masked
        return self._secrets.redact(record.getMessage())


class JsonFormatter(MaskingFormatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record), ensure_ascii=False, default=str)

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """`time, level, event, request_id, pack, tool, caller, code, ms`, those that are known."""
        fields: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03}+00:00",
            "level": record.levelname.lower(),
            "event": self.event(record),
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
        fields.update(_trace())
        for key in ("pack", "code", "ms"):
            if hasattr(record, key):
                fields[key] = getattr(record, key)
        if record.exc_info:
            fields["traceback"] = self._secrets.redact(self.formatException(record.exc_info))
        elif trace := getattr(record, "traceback", ""):  # made on a pack's side
            fields["traceback"] = self._secrets.redact(trace)
        return fields


def _trace() -> dict[str, str]:
    """The ids of the trace and the span that a line belongs to, where there is one."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    about = trace.get_current_span().get_span_context()
    if not about.is_valid:
        return {}
    return {"trace_id": f"{about.trace_id:032x}", "span_id": f"{about.span_id:016x}"}


class TextFormatter(MaskingFormatter):
    """Time, level, event, and the request id where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        moment = f"{_second(int(record.created))[11:]}.{int(record.msecs):03}"
        event = shown(self.event(record)).replace("\n", "\\n")
        text = f"{moment} {record.levelname:7} {event}"
        call = current_call.get()
        if call is not None:
            text += f"  [{call.context.request_id}]"
        if record.exc_info:
            text += "\n" + shown(self._secrets.redact(self.formatException(record.exc_info)))
        elif trace := getattr(record, "traceback", ""):  # made on a pack's side
            text += "\n" + shown(self._secrets.redact(trace))
        return text
