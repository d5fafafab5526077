"""What is borrowed from the SDK: its spans, its stateless stream and its sessions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import anyio
from mcp.server import runner
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import EventStore, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp

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
