"""How a running call speaks to its client, from the pack's side."""

from __future__ import annotations

from typing import Any

from ..declarations.context import Level
from . import bounds
from .mailbox import CallMailbox, CloseStream, LogMessage, ProgressMessage
from .messages import REASON_BYTES


class SideChannel:
    """Makes plain, bounded messages of what a tool says, in the tool's own thread."""

    def __init__(self, mailbox: CallMailbox) -> None:
        self._mailbox = mailbox

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

    def close_stream(self) -> None:
        """Let the client come back later for the rest."""
        self._mailbox.say(CloseStream())


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return value if type(value) in (int, float) else float(value)
