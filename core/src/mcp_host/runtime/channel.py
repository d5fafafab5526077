"""How a running call speaks to its client, from the pack's side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import from_json

from ..declarations.content import compact
from ..declarations.context import Level
from . import bounds
from .mailbox import (
    CallMailbox,
    CloseStream,
    LogMessage,
    NotificationMessage,
    ProgressMessage,
)
from .messages import REASON_BYTES

NOTIFICATION_BYTES = 64 * 1024
"""The most that the parameters of an extension's notification may take as JSON."""


class SideChannel:
    """Makes plain, bounded messages of what a tool says, in the tool's own thread.

    `sends` are the notifications of extensions that the pack has declared. Who wants progress, the
    host knows.
    """

    wants_progress = True

    def __init__(self, mailbox: CallMailbox, sends: Collection[str] = ()) -> None:
        self._mailbox = mailbox
        self._sends = sends

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Say how far the call is; `TypeError` where that is no number."""
        self._mailbox.say(
            ProgressMessage(
                _number("done", done),
                None if total is None else _number("total", total),
                None if message is None else bounds.text(message),
            )
        )

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Say something for the client's log."""
        name = None if logger is None else bounds.text(logger, 256)
        self._mailbox.say(LogMessage(level, bounds.plain(data, REASON_BYTES), name))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification of an extension; `ValueError` where it cannot be sent."""
        if method not in self._sends:
            raise ValueError(
                f"{method!r} must stand in `sends` of an extension of the pack, which has "
                f"{', '.join(sorted(self._sends)) or 'none'}"
            )
        try:
            body = compact(dict(params)).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"{method}: the parameters must be JSON data: {error}") from error
        if len(body) > NOTIFICATION_BYTES:
            raise ValueError(
                f"{method}: the parameters must take at most {NOTIFICATION_BYTES} bytes as JSON, "
                f"not {len(body)}"
            )
        self._mailbox.say(NotificationMessage(method, from_json(body)))

    def close_stream(self) -> None:
        """Let the client come back later for the rest."""
        self._mailbox.say(CloseStream())


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return value if type(value) in (int, float) else float(value)
