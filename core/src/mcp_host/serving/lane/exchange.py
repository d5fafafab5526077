"""One request of 2026-07-28 over HTTP, and its response."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from ...declarations.context import Caller
from ...runtime.alarms import Alarms
from ...runtime.messages import Answered
from .asgi import JSON_TYPE, Header
from .channel import LaneChannel
from .lane import AnswerFrame, Lane
from .requests import Usual

PATIENCE = 15.0
"""Seconds until an answer becomes a stream of events, and between two signs of life in it."""
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]
LIFE = b": ping\r\n\r\n"
ON_GONE = "mcp_host.on_gone"
"""Where the scope of a request has its `OnGone`."""
AT_ONCE = "mcp_host.at_once"
"""Where the scope of a request has its `AtOnce`; absent where only the loop can answer it."""
OnGone: TypeAlias = Callable[[Callable[[], object] | None], None]
"""Has a function called on the loop when the client goes, at once where it has; None takes it back.
"""
LARGEST_AT_ONCE = 64 * 1024
"""Bytes of an answer that a thread of the pack sends by itself."""


class AtOnce(Protocol):
    """Sends a whole response at once, in any thread."""

    def send(self, headers: Sequence[Header], body: bytes, may: Callable[[], bool]) -> bool:
        """Send a response of status 200.

        False where `may`, which is asked last, says no, or the connection is no more: then nothing
        was done. Else `ended` is to be called on the loop.
        """

    def ended(self) -> None:
        """Note on the loop that the response was sent."""


class Exchange:
    """One request and its response: JSON, or a stream of events.

    It becomes a stream when the call says something, or has run for `patience`. When the client
    goes, the call is cancelled.

    Invariants: whoever has the claim gives the answer: the thread of the pack that makes it, by
    `at_once`, the stream from its first event on, or else the loop. `_events` and `_writing` are
    set from the first event on.
    """

    def __init__(
        self,
        statuses: Mapping[int, int],
        patience: float | None,
        alarms: Alarms,
        send: Any,
        on_gone: OnGone,
        at_once: AtOnce | None,
    ) -> None:
        self._statuses = statuses
        self._patience = PATIENCE if patience is None else patience
        self._alarms = alarms
        self._send = send
        self._on_gone = on_gone
        self._at_once = at_once
        self._claim = threading.Lock()
        self._events: asyncio.Queue[bytes] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._is_gone = False

    async def run(self, lane: Lane, request: Usual, caller: Caller) -> None:
        """Have the request answered, and send the answer."""
        calling = asyncio.current_task()
        assert calling is not None  # this is a coroutine
        alarm = self._alarms.call_later(self._patience, partial(self._say, LIFE))
        self._on_gone(partial(self._cancel, calling))
        channel = LaneChannel(lambda frame: self._say(_event(frame)), request.token)
        at_once = None
        if self._at_once is not None:
            at_once = partial(self._answer_at_once, self._at_once, lane, request, caller)
        try:
            outcome: Answered | Exception
            try:  # as `Lane.outcome`, without a coroutine more for each call
                outcome = await lane.call(request, caller, channel, at_once)
                if not outcome.is_wire:
                    await lane.prepare()
            except Exception as error:
                outcome = error
            alarm.cancel()
            if self._events is not None or self._claims():
                await self._answer(lane.frame(request, caller, outcome))
            elif self._at_once is not None:
                self._at_once.ended()
        except asyncio.CancelledError:
            if not self._is_gone:
                raise
        finally:
            self._on_gone(None)
            channel.close()
            alarm.cancel()
            if self._writing is not None:
                self._writing.cancel()

    def _answer_at_once(
        self, at_once: AtOnce, lane: Lane, request: Usual, caller: Caller, answered: Answered
    ) -> bool:
        """Send what a pack answers, in its thread; False where that must be done on the loop."""
        frame = lane.frame_at_once(request, caller, answered)
        if frame is None or len(frame) > LARGEST_AT_ONCE:
            return False
        return at_once.send(_headers(frame), frame, self._claims)

    def _claims(self) -> bool:
        """Claim to give the answer, in any thread; False where somebody has."""
        return self._claim.acquire(blocking=False)

    async def _answer(self, answer: AnswerFrame) -> None:
        if self._events is not None and self._writing is not None:
            self._events.put_nowait(_event(answer.frame))
            self._events.put_nowait(b"")
            await self._writing
            return
        status = 200 if answer.error is None else self._statuses.get(answer.error, 200)
        await self._respond(status, answer.frame)

    async def _respond(self, status: int, frame: bytes) -> None:
        start = {"type": "http.response.start", "status": status, "headers": _headers(frame)}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": frame})

    def _say(self, event: bytes) -> None:
        """Send an event, the first of which begins the stream; none after the answer."""
        if self._events is None:
            if not self._claims():
                return
            self._events = asyncio.Queue()
            self._writing = asyncio.create_task(self._write(self._events))
        self._events.put_nowait(event)

    async def _write(self, events: asyncio.Queue[bytes]) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS}
        await self._send(start)
        while event := await self._next(events):
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _next(self, events: asyncio.Queue[bytes]) -> bytes:
        """The next event; a sign of life where none comes, and nothing at the end."""
        try:
            async with asyncio.timeout(self._patience):
                return await events.get()
        except TimeoutError:
            return LIFE

    def _cancel(self, calling: asyncio.Task[Any]) -> None:
        """Cancel the call: its client is gone."""
        self._is_gone = True
        calling.cancel()


def _headers(frame: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", b"%d" % len(frame)), JSON_TYPE]


def _event(frame: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % frame
