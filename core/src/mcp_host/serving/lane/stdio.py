"""The lane of one client on standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...declarations.context import Caller, Level
from . import frames
from .channel import LaneChannel
from .lane import Answer, Lane
from .requests import Envelopes, Id, Usual, cancelled, coerced, message, usual

if TYPE_CHECKING:
    from ..connections import Connection
    from ..transports.stdio.link import StdioLink

CONNECTION_CLOSED = -32000


class StdioLane:
    """Takes usual requests out of one client's lines.

    `connection` is the client's, `is_modern` its era, None until that is known. A cancelled request
    gets no answer; one that still runs when the lane closes is told that the connection is.
    """

    def __init__(self, lane: Lane, link: StdioLink, connection: Connection) -> None:
        self._lane = lane
        self._link = link
        self._connection = connection
        self._envelopes = Envelopes(connection.id)
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._is_closing = False
        self.is_modern: bool | None = None

    def takes(self, line: bytes) -> bool:
        """Whether a line is answered here; nothing is, until the era is known."""
        if self.is_modern is None:
            return False
        given = message(line)
        if given is None:
            return False
        request = usual(given)
        if request is None:
            return self._cancels(cancelled(given))
        caller = self._caller(request)
        if caller is None or not self._lane.takes(request, caller):
            return False
        if not self._link.accepted(request.id):
            return False  # the SDK's way refuses it
        self._start(request, caller)
        return True

    @property
    def is_busy(self) -> bool:
        """Whether a call is running."""
        return bool(self._running)

    def begin_handshake(self, caller: Caller) -> None:
        """Take requests of the handshake era from now on, of this caller."""
        self._connection.caller = caller
        self.is_modern = False

    async def close(self) -> None:
        """End what still runs, and say so to its callers."""
        self._is_closing = True
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _caller(self, request: Usual) -> Caller | None:
        if not self.is_modern:
            return self._connection.caller if not request.meta else None
        return self._envelopes.caller(request.meta) if request.method != "ping" else None

    def _start(self, request: Usual, caller: Caller) -> None:
        channel = LaneChannel(self._link.post, request.token, self._level())
        task = asyncio.create_task(self._answer(request, caller, channel))
        key = coerced(request.id)
        self._running[key] = task
        task.add_done_callback(partial(self._ended, request.id, key))

    def _level(self) -> Callable[[], Level] | None:
        """In the handshake era a client has set its level; later ones ask in each request."""
        return None if self.is_modern else lambda: self._connection.level

    async def _answer(self, request: Usual, caller: Caller, channel: LaneChannel) -> None:
        try:
            answer = await self._lane.answer(request, caller, channel)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
            answer = Answer(frames.error(request.id, CONNECTION_CLOSED, "Connection closed"))
        finally:
            channel.close()
        done = self._link.post(answer.frame)
        if done is not None:
            await done

    def _ended(self, request_id: Id, key: Id, task: asyncio.Task[None]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        self._link.answered(request_id)

    def _cancels(self, request_id: Id | None) -> bool:
        task = self._running.get(coerced(request_id)) if request_id is not None else None
        if task is not None:
            task.cancel()
        return task is not None
