"""Everything private that is borrowed from the SDK and from uvicorn, in this one file.

None of it is promised by its library. `tests/core/serving/test_borrowed.py` has a test for each
borrowed name, which says what to look at when a new version of the library has it no more.
"""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import anyio
import uvicorn
from mcp.server import runner
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import EventStore, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

# -- the SDK

SPANS = "OpenTelemetryMiddleware"
"""The name of the class in `mcp.server._otel` that makes a span for each request."""


def without_spans(server: Server[Any]) -> None:
    """Take the middleware off a server that makes spans."""
    server.middleware[:] = [made for made in server.middleware if type(made).__name__ != SPANS]


async def serve_modern_stream(server: Server[Any], stream: Any) -> None:
    """Serve one stateless-era stream with the SDK's own loop for it.

    `Server.run` would look ahead to the first request by itself, and have every later message pass
    through a second task: an eighth of a call's round trip. Without the private function it serves
    as well, and slower.
    """
    serve = getattr(runner, "_serve_modern_stream", None)
    if serve is None:
        await server.run(stream, stream, server.create_initialization_options())
    else:
        await serve(server, stream, stream, lifespan_state={}, raise_exceptions=False)


class SessionKeeper(Protocol):
    """What decides over sessions and keeps what belongs to each."""

    def admit(self, owner: AuthorizationContext | None) -> Any:
        """The event store of a new session of this caller; raises where it may have none."""

    def began(self, session_id: str, session: Any, use: SessionUse) -> None:
        """Keep what was admitted under the id that it now has."""

    def ended(self, session_id: str) -> None:
        """Forget a session; also one that was never begun."""


class SessionUse:
    """Whether one of the SDK's sessions is in use; it ends when it was not for long enough.

    The SDK counts the requests that it serves itself, in `handle_request` of the transport.
    """

    def __init__(self, transport: StreamableHTTPServerTransport) -> None:
        self._transport = transport

    def begin(self) -> bool:
        """Count a request; False where the session ends already."""
        transport, scope = self._transport, self._transport.idle_scope
        if transport.is_terminated or (scope is not None and scope.cancel_called):
            return False
        transport._requests_in_flight += 1
        if scope is not None:
            scope.deadline = math.inf
        return True

    @property
    def ends_at(self) -> float:
        """When the session ends unless it is used, in the loop's time."""
        scope = self._transport.idle_scope
        return math.inf if scope is None else scope.deadline

    def end(self) -> None:
        """Count a request no longer."""
        transport, scope = self._transport, self._transport.idle_scope
        transport._requests_in_flight -= 1
        if not transport._requests_in_flight and scope is not None:
            assert transport._idle_timeout is not None  # there is a scope where there is a time
            scope.deadline = anyio.current_time() + transport._idle_timeout


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's sessions, each with an event store of its own and counted by a keeper.

    The SDK reads `event_store` once for each new session, in `_admit_session`; it is a plain
    attribute there, and one store for all. Every end of a session goes by `_discard_session`, and
    every request, once its body is there, by `_handle_request`.
    """

    def __init__(
        self, keeper: SessionKeeper | None, checks: Callable[[ASGIApp], ASGIApp], **named: Any
    ) -> None:
        self._keeper = keeper
        self._next: EventStore | None = None
        super().__init__(**named)
        # What checks a request stands behind the SDK's own check of the body's length.
        checked = checks(self._handle_request)
        self.asgi_app = RequestBodyLimitMiddleware(checked, self.max_request_body_size)

    @property
    def event_store(self) -> EventStore | None:
        return self._next

    @event_store.setter
    def event_store(self, value: EventStore | None) -> None:
        """Ignore what the SDK's constructor sets."""

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if self._keeper is None:
            return super()._admit_session(requestor)
        session = self._next = self._keeper.admit(requestor)
        transport = super()._admit_session(requestor)
        if transport is not None and transport.mcp_session_id is not None:
            self._keeper.began(transport.mcp_session_id, session, SessionUse(transport))
        return transport

    async def _discard_session(
        self, session_id: str, transport: StreamableHTTPServerTransport
    ) -> None:
        if self._keeper is not None:
            self._keeper.ended(session_id)
        await super()._discard_session(session_id, transport)


# -- uvicorn


class GracefulServer(uvicorn.Server):
    """uvicorn that ends its streams first, and hears no signals: the watchdog does.

    `ending` is called when the server begins to end. `queue` is how many connections the system
    holds until they are accepted.
    """

    def __init__(
        self, config: uvicorn.Config, ending: Callable[[], None], queue: int = 2048
    ) -> None:
        super().__init__(config)
        self._queue = queue
        self._ending = ending

    def end(self) -> None:
        """Begin to end; requests that run are waited for.

        The SDK's event streams end where this method of uvicorn is called, for a library of theirs
        looks on.
        """
        self.handle_exit(signal.SIGTERM, None)

    def end_at_once(self) -> None:
        """Begin to end, and wait for nobody."""
        self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and let the system hold more connections than are accepted at once.

        asyncio has one number for both; accepted at once, a flood would take every descriptor
        before one of its connections could be closed.
        """
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(self._queue)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that the end begins, and end without an error in the log for each stream cut."""
        self._ending()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


class Counts(Protocol):
    """What is told of every connection."""

    def opened(self, connection: Any) -> None:
        """A client has connected."""

    def heard(self, connection: Any) -> None:
        """Data came, or a response has ended."""

    def closed(self, connection: Any) -> None:
        """The connection is no more."""


FULL = 64 * 1024
"""Bytes that are sent without waiting for more."""


class GatheringTransport:
    """A connection that sends what is written in one go of the loop as one piece.

    uvicorn writes the head of a response and its body one after the other, each of which would be
    sent, and wake the client, by itself.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._waiting = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this, at the latest when the loop has done what it is doing."""
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting >= FULL:  # so that the transport can say when it has enough
            self.flush()
        elif len(self._pieces) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what was written."""
        if self._pieces:
            pieces, self._pieces, self._waiting = self._pieces, [], 0
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self.flush()
        self._transport.close()

    def set_protocol(self, protocol: Any) -> None:
        """Hand the connection over to another protocol."""
        self.flush()
        self._transport.set_protocol(protocol)


def counted_protocol(door: Counts) -> type[asyncio.Protocol]:
    """uvicorn's protocol of HTTP/1.1, whose connections are told to a door.

    uvicorn has `timeout_keep_alive` for the time between two requests, and nothing for a client
    that never ends its first header.
    """

    class CountedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # chosen as it runs
        @property
        def awaits_header(self) -> bool:
            """Whether the server waits for the header of a request."""
            return self.cycle is None or bool(self.cycle.response_complete)

        @property
        def awaits_body(self) -> bool:
            """Whether the server waits for the rest of a body."""
            return not self.awaits_header and bool(self.cycle.more_body)

        def turn_away(self, answer: bytes) -> None:
            """Close the connection; with this answer where it has begun to send a request."""
            if self.cycle is None or not self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(GatheringTransport(transport))
            door.opened(self)

        def on_header(self, name: bytes, value: bytes) -> None:
            """Take a header; httptools leaves the blanks behind a value, which do not count."""
            super().on_header(name, value.rstrip(b" \t"))

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            door.heard(self)

        def on_response_complete(self) -> None:
            self.transport.flush()
            super().on_response_complete()
            door.heard(self)

        def connection_lost(self, exc: Exception | None) -> None:
            door.closed(self)
            super().connection_lost(exc)

    return CountedProtocol
