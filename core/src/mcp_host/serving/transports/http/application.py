"""The ASGI application: the endpoint with its tokens and sessions, and the routes beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from ....settings.tables import HttpTable
from ...adapter import Adapter
from ...lane.http import HttpLane
from . import PATH
from .guard import Guard
from .handshake import session_manager
from .routes import HealthRoutes
from .sessions import Sessions
from .tokens import Verifier


def application(
    adapter: Adapter,
    http: HttpTable,
    port: int,
    routes: HealthRoutes,
    verifier: Verifier,
    sessions: Sessions,
) -> ASGIApp:
    """The application for a server on this port."""
    manager = session_manager(adapter, http, sessions)
    endpoint: ASGIApp = StreamableHTTPASGIApp(manager)
    if http.tokens:
        known = AuthContextMiddleware(RequireAuthMiddleware(endpoint, [], None))
        endpoint = AuthenticationMiddleware(known, backend=BearerAuthBackend(verifier))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(
        routes=[
            Route(PATH, endpoint),
            Route("/healthz", routes.alive),
            Route("/readyz", routes.ready),
        ],
        middleware=[_cors(http)] if http.allowed_origins else [],
        lifespan=lifespan,
    )
    if adapter.lane is None:
        return Guard(app, http, port)
    identify = partial(_identity, verifier) if http.tokens else None
    lane = HttpLane(
        app,
        adapter.lane,
        PATH,
        http.max_body_bytes,
        identify,
        ERROR_CODE_HTTP_STATUS,
        sessions.of_subject,
    )
    return Guard(lane, http, port)


def _identity(verifier: Verifier, token: str) -> tuple[str, frozenset[str]] | None:
    found = verifier.find(token)
    return None if found is None else (found.subject, frozenset(found.scopes))


def _cors(http: HttpTable) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=http.allowed_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )
