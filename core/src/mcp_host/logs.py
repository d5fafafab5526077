"""The log: one line an event on standard error, as text for people or JSON for programs."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from .middleware.request_id import current_call
from .settings import Secrets


class _Formatter(logging.Formatter):
    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return self.write(fields)

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """`time, level, event, request_id, pack, tool, caller, code, ms`, those that are known."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
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
        return fields

    def write(self, fields: dict[str, Any]) -> str:
        raise NotImplementedError


class JsonFormatter(_Formatter):
    """One JSON object a line."""

    def write(self, fields: dict[str, Any]) -> str:
        if "traceback" in fields:
            fields["traceback"] = self._secrets.redact(fields["traceback"])
        return json.dumps(fields, ensure_ascii=False, default=str)


class TextFormatter(_Formatter):
    """Time, level, event, and the request id where there is one."""

    def write(self, fields: dict[str, Any]) -> str:
        moment = fields["time"][11:23]
        event = fields["event"].replace("\n", "\\n")
        text = f"{moment} {fields['level'].upper():7} {event}"
        if "request_id" in fields:
            text += f"  [{fields['request_id']}]"
        if "traceback" in fields:
            text += "\n" + self._secrets.redact(fields["traceback"])
        return text


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
    handler = _handler()
    handler.setFormatter(JsonFormatter(secrets) if form == "json" else TextFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mcp_host").setLevel(level.upper())
