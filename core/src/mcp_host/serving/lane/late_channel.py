"""The client's channel of a call that may never need one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ...declarations.context import LEVELS, ClientChannel, Level
from ..connections import Connection
from .requests import Usual


class LateChannel:
    """Leads to the client of a request in a session, once somebody has attached a channel to it.

    What is said before is kept in `_said` until then; `needed` is called each time, since somebody
    should attach one. What the client did not ask for is not said: progress without a token, and
    lines of the log beneath the connection's level.
    """

    def __init__(self, request: Usual, connection: Connection, needed: Callable[[], None]) -> None:
        self.attached = asyncio.Event()
        self._request = request
        self._connection = connection
        self._needed = needed
        self._said: list[Callable[[ClientChannel], None]] = []
        self._channel: ClientChannel | None = None

    @property
    def wants_progress(self) -> bool:
        """Whether the client has asked how far the call is."""
        return self._request.token is not None

    def attach(self, channel: ClientChannel) -> None:
        """Lead to the client by this channel from now on, and say what was kept."""
        self._channel = channel
        self.attached.set()
        for said in self._said:
            said(channel)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far the call is."""
        if self._request.token is not None:
            self._say(lambda channel: channel.progress(done, total, message))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send the client a line of the log, unless its level is beneath what it asked for."""
        if LEVELS.index(level) >= LEVELS.index(self._connection.level):
            self._say(lambda channel: channel.log(level, data, logger))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension."""
        self._say(lambda channel: channel.notify(method, params))

    def close_stream(self) -> None:
        """Let the client come back later for the rest."""
        self._say(lambda channel: channel.close_stream())

    def _say(self, said: Callable[[ClientChannel], None]) -> None:
        if self._channel is not None:
            said(self._channel)
        else:
            self._said.append(said)
            self._needed()
