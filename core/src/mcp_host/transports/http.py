"""Serving over streamable HTTP: who may call, what every route checks, and a graceful end."""

from __future__ import annotations

import asyncio
import hmac
import logging
import signal
import socket
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import (
    BearerAuthBackend,
    RequireAuthMiddleware,
)
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..addresses import is_address, is_loopback
from ..context import Caller
from ..host import Host
from ..middleware.policy import may_read
from ..server import Adapter
from ..settings import HttpTable, TokenTable

log = logging.getLogger("mcp_host.http")

PATH = "/mcp"
RETRY_MS = 500
STREAMS, EVENTS = 64, 256


class Replay(EventStore):
    """What one handshake-era session may fetch again after a broken stream; bounded.

    One for each session, never shared: the SDK names streams by JSON-RPC id, so in a shared store
    one client's `Last-Event-ID` would bring it another client's answers.
    """

    def __init__(self) -> None:
        self._streams: OrderedDict[str, deque[tuple[int, Any]]] = OrderedDict()
        self._last = 0

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._last += 1
        events = self._streams.setdefault(stream_id, deque(maxlen=EVENTS))
        events.append((self._last, message))
        self._streams.move_to_end(stream_id)
        if len(self._streams) > STREAMS:
            self._streams.popitem(last=False)
        return f"{self._last}_{stream_id}"

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number, _, stream_id = last_event_id.partition("_")
        if stream_id not in self._streams or not number.isdecimal():
            return None
        for event, message in list(self._streams[stream_id]):
            if event > int(number) and message is not None:
                await send_callback(EventMessage(message, f"{event}_{stream_id}"))
        return stream_id


class _Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions, with a replay store of its own for each."""

    @property
    def event_store(self) -> EventStore | None:
        return None if self.stateless else Replay()  # read once for each new session

    @event_store.setter
    def event_store(self, value: EventStore | None) -> None:
        """The SDK's constructor sets what we make ourselves."""


class Verifier:
    """Finds the subject and the scopes of a bearer token."""

    def __init__(self, tokens: Sequence[TokenTable]) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        found = None
        for known in self._tokens:  # all of them, so that the time tells nothing
            if hmac.compare_digest(known.token.encode(), token.encode("utf-8", "replace")):
                found = known
        if found is None:
            return None
        return AccessToken(
            token=token, client_id=found.subject, subject=found.subject, scopes=found.scopes
        )


class Guard:
    """Checks Host and Origin on every route, before anything else looks at the request.

    A page of a foreign site must not reach a server on this machine by a name of its own (DNS
    rebinding): on loopback only loopback's names are taken; elsewhere addresses, this machine's
    name and what the settings allow.
    """

    def __init__(self, app: ASGIApp, http: HttpTable, port: int) -> None:
        self._app, self._port = app, port
        self._loopback = is_loopback(http.host)
        self._hosts = {host.lower() for host in http.allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in http.allowed_origins}
        self._names = {"localhost", "127.0.0.1", "[::1]"}
        if not self._loopback:
            self._names |= {socket.gethostname().lower(), http.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            host = headers.get(b"host", b"").decode("latin-1").lower()
            origin = headers.get(b"origin", b"").decode("latin-1").lower()
            if not self._host_fits(host):
                await PlainTextResponse("Misdirected request: unknown Host", 421)(
                    scope, receive, send
                )
                return
            if origin and not self._origin_fits(origin):
                await PlainTextResponse("Forbidden: unknown Origin", 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _host_fits(self, host: str) -> bool:
        name, port = _split_port(host)
        if host in self._hosts or name in self._hosts:
            return True
        if port is not None and port != self._port:
            return False
        return name in self._names or (not self._loopback and is_address(name))

    def _origin_fits(self, origin: str) -> bool:
        if origin.rstrip("/") in self._origins:
            return True
        scheme, _, rest = origin.partition("://")
        name, port = _split_port(rest)
        return scheme in ("http", "https") and name in self._names and port == self._port


def _split_port(host: str) -> tuple[str, int | None]:
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal():
        return name, int(port)
    return host, None


class _Routes:
    """What is served: the endpoint, and how the host is."""

    def __init__(self, host: Host, verifier: Verifier) -> None:
        self._host, self._verifier = host, verifier
        self.stopping = False

    async def alive(self, request: Request) -> JSONResponse:
        status = 503 if self.stopping else 200
        return JSONResponse({"status": "stopping" if self.stopping else "ok"}, status)

    async def ready(self, request: Request) -> JSONResponse:
        reports = self._host.report()
        states = Counter(report["state"] for report in reports)
        working = states["ready"] + states["degraded"]
        enabled = len(reports) - states["disabled"]
        is_ready = not self.stopping and not states["opening"] and (working or not enabled)
        answer: dict[str, Any] = {"ready": bool(is_ready), "packs": dict(states)}
        caller = Caller(scopes=await self._scopes(request))
        known = [r for r in reports if may_read("host", caller) or may_read(r["name"], caller)]
        if known:
            answer["details"] = known
        return JSONResponse(answer, 200 if is_ready else 503)

    async def _scopes(self, request: Request) -> frozenset[str]:
        """What the request's token allows; nothing without one."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = await self._verifier.verify_token(token) if scheme.lower() == "bearer" else None
        return frozenset(known.scopes if known else ())


class _Server(uvicorn.Server):
    """uvicorn that ends its streams first, and leaves with our exit code."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None], at_once: Any) -> None:
        super().__init__(config)
        self._stopping, self._at_once = stopping, at_once

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own raises the signal again at the end, and the exit code becomes 143.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            if sys.platform == "win32":
                signal.signal(number, lambda n, _: self._on_signal(n))
            else:
                loop.add_signal_handler(number, self._on_signal, number)
        yield

    def _on_signal(self, number: int) -> None:
        if self.should_exit:
            self._at_once()
        self.handle_exit(number, None)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        # The streams of clients that listen are cut now: uvicorn would call that an error of each.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def application(host: Host, adapter: Adapter, http: HttpTable, port: int) -> tuple[ASGIApp, Any]:
    """The ASGI application, and its routes' state."""
    sessions = _Sessions(
        adapter.server,
        stateless=http.stateless,
        json_response=False,  # in JSON mode the SDK does not see a client go
        retry_interval=None if http.stateless else RETRY_MS,
        session_idle_timeout=http.session_idle_timeout,
        max_request_body_size=http.max_body_bytes,
        # Our guard checks Host and Origin, on every route and before this one.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    verifier = Verifier(http.tokens)
    routes = _Routes(host, verifier)
    endpoint: ASGIApp = _Forgetting(StreamableHTTPASGIApp(sessions), adapter)
    if http.tokens:
        guarded = AuthContextMiddleware(RequireAuthMiddleware(endpoint, [], None))
        backend = BearerAuthBackend(verifier)
        endpoint = AuthenticationMiddleware(guarded, backend=backend)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    middleware = []
    if http.allowed_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=http.allowed_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["*"],
                expose_headers=["Mcp-Session-Id"],
            )
        )
    app = Starlette(
        routes=[
            Route(PATH, endpoint),
            Route("/healthz", routes.alive),
            Route("/readyz", routes.ready),
        ],
        middleware=middleware,
        lifespan=lifespan,
    )
    return Guard(app, http, port), routes


class _Forgetting:
    """Tells the adapter when a client ends its session."""

    def __init__(self, app: ASGIApp, adapter: Adapter) -> None:
        self._app, self._adapter = app, adapter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watching(message: Message) -> None:
            # Whoever may not end the session is told 404, and then it has not ended.
            if message["type"] == "http.response.start" and message["status"] < 300:
                session = dict(scope["headers"]).get(b"mcp-session-id", b"")
                self._adapter.forget(session.decode("latin-1"))
            await send(message)

        ends = scope["type"] == "http" and scope["method"] == "DELETE"
        await self._app(scope, receive, watching if ends else send)


async def serve(
    host: Host,
    make_adapter: Callable[[], Adapter],
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    at_once: Callable[[], None],
) -> None:
    """Serve until a signal comes or a required pack fails.

    `ready` is called when requests can be taken.
    """
    http = host.settings.http
    await host.open()
    adapter = make_adapter()
    detach = adapter.attach()
    app, routes = application(host, adapter, http, listening.getsockname()[1])

    def stopping() -> None:
        routes.stopping = True
        adapter.nobody_answers()
        adapter.close_streams()

    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=max(1, round(host.settings.host.grace)),
    )
    server = _Server(config, stopping, at_once)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    failing = asyncio.create_task(host.failed())
    ready()
    await asyncio.wait({serving, failing}, return_when=asyncio.FIRST_COMPLETED)
    if failing.done():
        server.should_exit = True
        server.force_exit = True
    failing.cancel()
    await asyncio.gather(serving, failing, return_exceptions=True)
    detach()
    await host.close()


def describe(listening: socket.socket) -> str:
    """The endpoint's URL."""
    host, port = listening.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}{PATH}"
