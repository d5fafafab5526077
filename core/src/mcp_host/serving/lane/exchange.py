"""One request of 2026-07-28 over HTTP, and its response."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...declarations.context import Caller
from .channel import LaneChannel
from .lane import Answer, Lane
from .requests import Usual

QUICK = 0.05
"""Seconds after which the lane looks whether the client is still there."""
PATIENCE = 15.0
"""Seconds until an answer becomes a stream of events, and between two signs of life in it."""
JSON_TYPE = (b"content-type", b"application/json")
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]
LIFE = b": ping\r\n\r\n"


class Exchange:
    """One request and its response: JSON, or a stream of events.

    It becomes a stream when the call says something, or has run for `patience`. When the client
    goes, the call is cancelled. `_events` and `_writing` are set from the first event on, and
    `_timer` is what is done next while the call runs.
    """

    def __init__(
        self, statuses: Mapping[int, int], patience: float | None, receive: Any, send: Any
    ) -> None:
        self._statuses = statuses
        self._patience = PATIENCE if patience is None else patience
        self._receive = receive
        self._send = send
        self._events: asyncio.Queue[bytes] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_gone = False
        self._timer: asyncio.TimerHandle

    async def run(self, lane: Lane, request: Usual, caller: Caller) -> None:
        """Have the request answered, and send the answer."""
        loop = asyncio.get_running_loop()
        calling = asyncio.current_task()
        assert calling is not None  # this is a coroutine
        self._timer = loop.call_later(QUICK, self._watch, calling)
        channel = LaneChannel(lambda frame: self._say(_event(frame)), request.token)
        try:
            answer = await lane.answer(request, caller, channel)
            self._timer.cancel()
            await self._respond(answer)
        except asyncio.CancelledError:
            if not self._is_gone:
                raise
        finally:
            channel.close()
            self._timer.cancel()
            for task in (self._writing, self._watching):
                if task is not None:
                    task.cancel()

    async def _respond(self, answer: Answer) -> None:
        if self._events is not None and self._writing is not None:
            self._events.put_nowait(_event(answer.frame))
            self._events.put_nowait(b"")
            await self._writing
            return
        status = 200 if answer.error is None else self._statuses.get(answer.error, 200)
        length = (b"content-length", str(len(answer.frame)).encode())
        headers = [length, JSON_TYPE]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": answer.frame})

    def _say(self, event: bytes) -> None:
        """Send an event, the first of which begins the stream."""
        if self._events is None:
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

    def _watch(self, calling: asyncio.Task[Any]) -> None:
        self._watching = asyncio.create_task(self._cancel_when_gone(calling))
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(0.0, self._patience - QUICK), self._say, LIFE)

    async def _cancel_when_gone(self, calling: asyncio.Task[Any]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._is_gone = True
        calling.cancel()


def _event(frame: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % frame
