"""The application on uvicorn, from its first request to its end."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import TYPE_CHECKING

import uvicorn

from ....host import Host
from ....settings.tables import HttpTable
from ...adapter import Adapter
from ...borrowed.graceful import GracefulServer
from ...borrowed.web import counted_protocol
from .application import application
from .door import LONGEST_QUEUE, Door, room
from .routes import HealthRoutes
from .sessions import Sessions
from .stopping import Refusal
from .tokens import Verifier

if TYPE_CHECKING:
    from .issuers import Issuers

log = logging.getLogger("mcp_host.server")

LAST_ANSWERS = 1.0
"""Seconds in which calls that were ended are answered."""


async def serve(
    host: Host, adapter: Adapter, listening: socket.socket, stopping: asyncio.Event
) -> None:
    """Serve until `stopping` is set; when this is cancelled, the server ends at once."""
    http = host.settings.http
    issuers = _issuers(http)
    if http.metrics:
        from ...metrics import Metrics, serve_beside

        Metrics(host)
        if http.metrics_port is not None:
            port = serve_beside(http.metrics_port)
            log.info("metrics are at http://127.0.0.1:%d/metrics", port)
    if http.limits.calls_per_minute is not None:
        host.limit_calls(http.limits.calls_per_minute)
    verifier = Verifier(lambda: host.settings.http.tokens, issuers)
    routes = HealthRoutes(host, verifier)
    sessions = Sessions(http, adapter.connections)

    def ending() -> None:
        routes.stopping = True
        adapter.stop_asking()
        adapter.close_streams()

    app = application(
        adapter, http, listening.getsockname()[1], routes, verifier, sessions, issuers
    )
    refusal = Refusal(app)
    grace = host.settings.host.grace
    connections, at_a_time = room(http.limits)
    config = uvicorn.Config(
        refusal,
        interface="asgi3",
        http=counted_protocol(Door(connections, http.limits.header_timeout)),
        backlog=at_a_time,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=False,  # nobody is known by an address
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    if issuers is not None:
        issuers.begin()
    server = GracefulServer(config, ending, LONGEST_QUEUE)
    serving = asyncio.create_task(server.serve(sockets=[listening]))

    async def end() -> None:
        await stopping.wait()
        routes.stopping = True
        await asyncio.sleep(host.settings.http.drain)
        refusal.begin()
        ending()
        began = time.monotonic()
        if not await _is_set(refusal.nothing_runs, within=grace):
            host.end_calls()
            await _is_set(refusal.nothing_runs, within=LAST_ANSWERS)
        config.timeout_graceful_shutdown = max(1, round(grace - (time.monotonic() - began)))
        server.end()

    watching = asyncio.create_task(end())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        host.end_calls()
        server.end_at_once()
        await serving
        raise
    finally:
        watching.cancel()
        if issuers is not None:
            issuers.close()


async def _is_set(event: asyncio.Event, *, within: float) -> bool:
    """Wait for an event, for so many seconds at the most; return whether it is set."""
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _issuers(http: HttpTable) -> Issuers | None:
    """The issuers of the settings; without any, nothing that reads JWTs is imported."""
    if not http.auth:
        return None
    from .issuers import Issuers

    return Issuers(http.auth)
