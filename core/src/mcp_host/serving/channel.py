"""The way back to the client of one call: its progress and its log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import mcp_types as types

from ..declarations.context import LEVELS, Level
from .connections import Connection
from .outbox import Outbox, Send
from .requests import Ctx


class ExtensionNotification(types.Notification[dict[str, Any], str]):
    """A notification of a protocol extension, which the SDK has no class for."""


class CallChannel:
    """The client's channel of one call, over the SDK; its methods belong to the host's loop.

    `connection` says which levels of the log its client wants; None wants all. The SDK alone knows
    whether it `wants_progress`, and passes none on that nobody has asked for.
    """

    wants_progress = True

    def __init__(self, ctx: Ctx, connection: Connection | None) -> None:
        self._ctx = ctx
        self._connection = connection
        self._outbox: Outbox | None = None

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far the call is."""
        self._post(partial(self._ctx.session.report_progress, done, total, message))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send the client a line of the log, unless its level is beneath what it asked for."""
        connection = self._connection
        if connection is not None and LEVELS.index(level) < LEVELS.index(connection.level):
            return
        send = self._ctx.session.send_log_message
        self._post(partial(send, level, data, logger, related_request_id=self._ctx.request_id))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension."""
        notification: Any = ExtensionNotification(method=method, params=dict(params))
        send = self._ctx.session.send_notification
        self._post(partial(send, notification, related_request_id=self._ctx.request_id))

    def close_stream(self) -> None:
        """End the call's event stream, which the client opens again."""
        if self._ctx.close_sse_stream is not None:
            self._post(self._ctx.close_sse_stream)

    async def flush(self) -> None:
        """Wait until everything is out: the client must hear it before the answer."""
        if self._outbox is not None:
            await self._outbox.flush()

    def _post(self, send: Send) -> None:
        if self._outbox is None:  # most calls say nothing
            self._outbox = Outbox()
        self._outbox.take(send)
