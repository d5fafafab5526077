"""The lane of HTTP: the stateless requests of 2026-07-28, each with its one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, TypeAlias

from ...declarations.context import Caller
from ...startup.protocol import MODERN_VERSION
from .channel import LaneChannel
from .lane import Answer, Lane
from .requests import NAMES, Envelopes, Usual, message, usual

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Identify: TypeAlias = Callable[[str], tuple[str, frozenset[str]] | None]
"""Finds the subject and the scopes of a bearer token; None for one that nobody has."""

QUICK = 0.05
"""Seconds after which the lane looks whether the client is still there."""
PATIENCE = 15.0
"""Seconds until an answer becomes a stream of events, and between two signs of life in it."""
ONCE = frozenset(
    name.encode()
    for name in (
        "accept",
        "authorization",
        "content-length",
        "content-type",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
    )
)
"""Headers that a usual request has at most once."""
UNUSUAL = (b"mcp-param-", b"mcp-session-id", b"origin", b"transfer-encoding", b"expect")
"""What headers begin with that a usual request has not."""
JSON_TYPES = (b"application/json", b"application/json; charset=utf-8")
JSON_TYPE = (b"content-type", b"application/json")
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]
LIFE = b": ping\r\n\r\n"


class HttpLane:
    """An ASGI application before another: it answers usual requests, and passes on all else.

    `path` is that of the endpoint, `longest` the bytes that a body may have. `identify` finds who
    presents a token; None where none are wanted. `statuses` are the HTTP statuses of errors, and
    `patience` the seconds until an answer becomes a stream.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        lane: Lane,
        path: str,
        longest: int,
        identify: Identify | None,
        statuses: Mapping[int, int],
        patience: float | None = None,
    ) -> None:
        self._patience = PATIENCE if patience is None else patience
        self._app = app
        self._lane = lane
        self._path = path
        self._longest = longest
        self._identify = identify
        self._statuses = statuses
        self._envelopes = Envelopes(None)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        headers = self._usual_headers(scope)
        if headers is None:
            await self._app(scope, receive, send)
            return
        body, kept = await _body(receive)
        request = usual(message(body) or {}) if body is not None else None
        caller = self._caller(request, headers) if request is not None else None
        if request is None or caller is None:
            await self._app(scope, _again(kept, receive), send)
            return
        exchange = _Exchange(self._statuses, self._patience, receive, send)
        await exchange.run(self._lane, request, caller)

    def _usual_headers(self, scope: Scope) -> dict[bytes, bytes] | None:
        """The headers of a request that may be usual; None of any other."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            return None
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name.startswith(UNUSUAL) or (name in headers and name in ONCE):
                return None
            headers[name] = value
        length = headers.get(b"content-length", b"")
        is_usual = (
            headers.get(b"mcp-protocol-version") == MODERN_VERSION.encode()
            and headers.get(b"content-type", b"").lower() in JSON_TYPES
            and _takes_both(headers.get(b"accept", b""))
            and len(length) < 10
            and length.isdigit()
            and int(length) <= self._longest
        )
        return headers if is_usual else None

    def _caller(self, request: Usual, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Who sends a request that the lane takes; None where it does not."""
        key = NAMES.get(request.method)
        fits = (
            key is not None
            and headers.get(b"mcp-method") == request.method.encode()
            and _names(headers.get(b"mcp-name", b""), request.name)
        )
        caller = self._envelopes.caller(request.meta) if fits else None
        if caller is None or not self._lane.takes(request) or not self._lane.takes_headers(request):
            return None
        if self._identify is None:
            return caller
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        known = self._identify(token) if scheme.lower() == "bearer" else None
        return None if known is None else replace(caller, subject=known[0], scopes=known[1])


class _Exchange:
    """One request and its response: JSON, or a stream of events.

    It becomes a stream when the call says something, or has run for `patience`. When the client
    goes, the call is cancelled. `_writing` is set from the first event on.
    """

    def __init__(
        self, statuses: Mapping[int, int], patience: float, receive: Any, send: Any
    ) -> None:
        self._statuses = statuses
        self._patience = patience
        self._receive = receive
        self._send = send
        self._events: asyncio.Queue[bytes] = asyncio.Queue()
        self._writing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_gone = False

    async def run(self, lane: Lane, request: Usual, caller: Caller) -> None:
        """Have the request answered, and send the answer."""
        loop = asyncio.get_running_loop()
        calling = asyncio.current_task()
        assert calling is not None  # this is a coroutine
        watch = loop.call_later(QUICK, self._watch, calling)
        stream = loop.call_later(self._patience, self._say, LIFE)
        channel = LaneChannel(lambda frame: self._say(_event(frame)), request.token)
        try:
            answer = await lane.answer(request, caller, channel)
            stream.cancel()
            await self._respond(answer)
        except asyncio.CancelledError:
            if not self._is_gone:
                raise
        finally:
            channel.close()
            watch.cancel()
            stream.cancel()
            for task in (self._writing, self._watching):
                if task is not None:
                    task.cancel()

    async def _respond(self, answer: Answer) -> None:
        if self._writing is not None:
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
        self._events.put_nowait(event)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS}
        await self._send(start)
        while event := await self._next():
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _next(self) -> bytes:
        """The next event; a sign of life where none comes, and nothing at the end."""
        try:
            async with asyncio.timeout(self._patience):
                return await self._events.get()
        except TimeoutError:
            return LIFE

    def _watch(self, calling: asyncio.Task[Any]) -> None:
        self._watching = asyncio.create_task(self._cancel_when_gone(calling))

    async def _cancel_when_gone(self, calling: asyncio.Task[Any]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._is_gone = True
        calling.cancel()


async def _body(receive: Any) -> tuple[bytes | None, list[Message]]:
    """The body, and the messages that it came in; None where the client left meanwhile."""
    kept: list[Message] = []
    while True:
        told = await receive()
        kept.append(told)
        if told["type"] != "http.request":
            return None, kept
        if not told.get("more_body"):
            if len(kept) == 1:
                return told.get("body", b""), kept
            body = b"".join(part.get("body", b"") for part in kept)
            return body, [{"type": "http.request", "body": body, "more_body": False}]


def _again(kept: list[Message], receive: Any) -> Any:
    """What gives messages that were taken already once more, and then those that come."""
    waiting = iter(kept)

    async def again() -> Any:
        for told in waiting:
            return told
        return await receive()

    return again


def _takes_both(accept: bytes) -> bool:
    kinds = {kind.strip() for kind in accept.split(b",")}
    return b"application/json" in kinds and b"text/event-stream" in kinds


def _names(header: bytes, name: str) -> bool:
    """Whether a header names what the body does, with no spelling of its own."""
    return name.isascii() and header == name.encode() and not header.startswith(b"=?")


def _event(frame: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % frame
