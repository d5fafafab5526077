"""The sessions of the handshake era: what the SDK keeps of them, and when one has ended."""

from __future__ import annotations

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ....settings.tables import HttpTable
from ...adapter import Adapter
from ...borrowed import SessionManager
from .replay import Replay

RETRY_MS = 500
"""When a client whose stream broke is to come again."""


def make_sessions(adapter: Adapter, http: HttpTable) -> SessionManager:
    """The SDK's session manager as the settings want it."""
    return SessionManager(
        None if http.stateless else Replay,
        app=adapter.server,
        stateless=http.stateless,
        json_response=False,  # in JSON mode the SDK does not see a client go
        retry_interval=None if http.stateless else RETRY_MS,
        session_idle_timeout=http.session_idle_timeout,
        max_request_body_size=http.max_body_bytes,
        # Our guard checks Host and Origin, on every route and before this one.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


class SessionWatch:
    """Has the adapter forget a connection when its client ends the session."""

    def __init__(self, app: ASGIApp, adapter: Adapter) -> None:
        self._app = app
        self._adapter = adapter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watching(message: Message) -> None:
            # Whoever may not end the session is told 404, and then it has not ended.
            if message["type"] == "http.response.start" and message["status"] < 300:
                session_id = dict(scope["headers"]).get(b"mcp-session-id", b"")
                self._adapter.connections.forget(session_id.decode("latin-1"))
            await send(message)

        ends = scope["type"] == "http" and scope["method"] == "DELETE"
        await self._app(scope, receive, watching if ends else send)
