"""The lane of one client on standard input and output."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...declarations.context import Caller, Level
from ...errors import ProtocolError
from ...runtime import eager
from ...runtime.messages import Answered
from .channel import LaneChannel
from .lane import Lane
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
        self._running: dict[Id, _OnlyAnswer] = {}
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
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _caller(self, request: Usual) -> Caller | None:
        if not self.is_modern:
            return self._connection.caller if not request.meta else None
        return self._envelopes.caller(request.meta) if request.method != "ping" else None

    def _start(self, request: Usual, caller: Caller) -> None:
        only = _OnlyAnswer(self._lane, self._link, request, caller)
        task = only.task = eager.start(self._answer(request, caller, only))
        if not task.done():
            self._running[coerced(request.id)] = only

    def _level(self) -> Callable[[], Level] | None:
        """In the handshake era a client has set its level; later ones ask in each request."""
        return None if self.is_modern else lambda: self._connection.level

    async def _answer(self, request: Usual, caller: Caller, only: _OnlyAnswer) -> None:
        channel = LaneChannel(self._link.post, request.token, self._level())
        try:
            try:
                outcome = await self._lane.outcome(request, caller, channel, only.at_once)
            except asyncio.CancelledError:
                if not self._is_closing:
                    raise
                outcome = ProtocolError(CONNECTION_CLOSED, "Connection closed")
            finally:
                channel.close()
            if only.claim():
                done = self._link.post(self._lane.frame(request, caller, outcome).frame)
                if done is not None:
                    await done
        finally:
            self._ended(request, only)

    def _ended(self, request: Usual, only: _OnlyAnswer) -> None:
        key = coerced(request.id)
        if self._running.get(key) is only:
            del self._running[key]
        only.ended()

    def _cancels(self, request_id: Id | None) -> bool:
        running = self._running.get(coerced(request_id)) if request_id is not None else None
        if running is not None and running.claim():
            running.task.cancel()
        return running is not None


class _OnlyAnswer:
    """The one answer to a request: nobody gives another once somebody has claimed to give it.

    Most are given by `at_once`, in a thread of the pack; all others on the loop, by `task`.
    """

    task: asyncio.Task[None]

    def __init__(self, lane: Lane, link: StdioLink, request: Usual, caller: Caller) -> None:
        self._lane = lane
        self._link = link
        self._request = request
        self._caller = caller
        self._claim = threading.Lock()
        self._was_at_once = False

    def claim(self) -> bool:
        """Claim to give the answer, in any thread; False where somebody has."""
        return self._claim.acquire(blocking=False)

    def at_once(self, answered: Answered) -> bool:
        """Send what a pack answers, in its thread; False where that must be done on the loop."""
        frame = self._lane.frame_at_once(self._request, self._caller, answered)
        if frame is None:
            return False
        return self._link.answer_at_once(self._request.id, frame, self._claim_at_once)

    def _claim_at_once(self) -> bool:
        self._was_at_once = self.claim()
        return self._was_at_once

    def ended(self) -> None:
        """Note on the loop that nothing more is done for the request."""
        if self._was_at_once:
            self._link.heard()
        else:
            self._link.answered(self._request.id)
