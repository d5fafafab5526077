"""The ASGI application: the endpoint with its tokens and sessions, and the routes beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
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
from ...addresses import PATH
from ...lane.http import HttpLane
from .challenges import IssuersAnswer, ProtectedResource, RequireToken, ScopeCheck
from .guard import Guard
from .handshake import session_manager
from .routes import HealthRoutes
from .sessions import Sessions
from .shares import Shares
from .tokens import Verifier

if TYPE_CHECKING:
    from .issuers import Issuers


def application(
    adapter: Adapter,
    http: HttpTable,
    port: int,
    routes: HealthRoutes,
    verifier: Verifier,
    sessions: Sessions,
    issuers: Issuers | None = None,
) -> ASGIApp:
    """The application for a server on this port."""
    manager = session_manager(adapter, http, sessions)
    endpoint: ASGIApp = StreamableHTTPASGIApp(manager)
    well_known: list[Route] = []
    if http.is_authenticated:
        resource = None
        if issuers is not None:
            resource = ProtectedResource(adapter.host, http, issuers)
            endpoint = ScopeCheck(endpoint, adapter.host, resource, http.max_body_bytes)
            well_known = [Route(path, resource.metadata) for path in resource.paths]
        known = AuthContextMiddleware(RequireToken(endpoint, resource))
        endpoint = AuthenticationMiddleware(known, backend=BearerAuthBackend(verifier))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    beside = http.metrics_port is not None
    app = Starlette(
        routes=[
            Route(PATH, endpoint),
            Route("/healthz", routes.alive),
            Route("/readyz", routes.ready),
            *([Route("/metrics", routes.metrics)] if http.metrics and not beside else []),
            *well_known,
        ],
        middleware=[_cors(http)] if http.allowed_origins else [],
        lifespan=lifespan,
    )
    identify = verifier.find if http.is_authenticated else None
    served: ASGIApp = app
    if adapter.lane is not None:
        served = HttpLane(
            app,
            adapter.lane,
            PATH,
            http.max_body_bytes,
            identify,
            ERROR_CODE_HTTP_STATUS,
            sessions.of_subject,
        )
    if issuers is None:
        return Guard(Shares(served, http.limits, PATH, identify), http, port)
    shares = Shares(served, http.limits, PATH, identify, verifier.verify_token)
    return Guard(IssuersAnswer(shares), http, port)


def _cors(http: HttpTable) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=http.allowed_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )
