"""The handshake era: the SDK's sessions, and what is checked before a request gets to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pydantic_core
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ....settings.tables import HttpTable
from ....startup.protocol import HANDSHAKE_VERSIONS, is_id
from ...adapter import Adapter
from ...borrowed.sdk import SessionManager
from ...lane.sessions import BEGUN
from .refusals import come_again, refusal
from .sessions import HttpSession, Owner, Sessions, TooManySessions, owner_of

RETRY_MS = 500
"""When a client whose stream broke is to come again."""
NO_SESSIONS = (
    "Session not found: this server is stateless and keeps no sessions; begin again with "
    "initialize, and send no Mcp-Session-Id"
)
VERSIONS = frozenset(version.encode() for version in HANDSHAKE_VERSIONS)


def session_manager(adapter: Adapter, http: HttpTable, sessions: Sessions) -> SessionManager:
    """The SDK's session manager as the settings want it, which begins and ends these sessions."""
    return SessionManager(
        None if http.stateless else sessions,
        lambda app: HandshakeChecks(app, sessions, keeps_sessions=not http.stateless),
        app=adapter.server,
        stateless=http.stateless,
        json_response=False,  # in JSON mode the SDK does not see a client go
        retry_interval=None if http.stateless else RETRY_MS,
        session_idle_timeout=http.session_idle_timeout,
        max_request_body_size=http.max_body_bytes,
        max_sessions=None,  # ours are counted, and refused with a reason
        # Our guard checks Host and Origin, on every route and before this one.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


class HandshakeChecks:
    """Answers what the SDK would drop, or mix up with another request.

    An id must be a string or an integer: the SDK takes a request with another one for a
    notification, which nobody answers. And an id must not be that of a request of the session which
    is not answered yet: the SDK would give the answer of one to the other. It also answers a client
    that may begin no further session.

    Where no sessions are kept, one that a client names is another server's, behind the same load
    balancer or before this one: the client hears so, and with 404 that it must begin anew.

    What comes here has its whole body in one message.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, *, keeps_sessions: bool) -> None:
        self._app = app
        self._keeps_sessions = keeps_sessions
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        version = headers.get(b"mcp-protocol-version")
        is_handshake = version is None or version in VERSIONS
        if is_handshake and not self._keeps_sessions and b"mcp-session-id" in headers:
            await refusal(404, None, NO_SESSIONS, data={"reason": "stateless"})(
                scope, receive, send
            )
            return
        if scope["method"] != "POST" or not is_handshake:
            await self._app(scope, receive, send)
            return
        message: Message | None = await receive()
        assert message is not None
        if message["type"] != "http.request" or message.get("more_body"):
            return  # the client left before it had sent everything

        async def again() -> Message:
            nonlocal message
            taken, message = message, None
            return taken if taken is not None else await receive()

        data = _parsed(message["body"])
        if "id" in data and "method" in data and not is_id(data["id"]):
            said = f"id must be a string or an integer, not {_shown(data['id'])}"
            await refusal(400, None, said)(scope, receive, send)
            return
        session_id = headers.get(b"mcp-session-id", b"").decode("latin-1")
        session = self._sessions.find(session_id, _owner(scope)) if session_id else None
        try:
            if session is None or "id" not in data or "method" not in data:
                await self._app(scope, again, send)
            else:
                await self._in_session(session, data["id"], scope, again, send)
        except TooManySessions as error:
            answer = come_again(429 if error.of_subject else 503, data.get("id"), error)
            await answer(scope, receive, send)

    async def _in_session(
        self,
        session: HttpSession,
        request_id: str | int,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Pass a request on unless one with its id waits for an answer."""
        stream_id = str(request_id)  # the SDK's name for it: 1 and "1" are one there
        if stream_id in session.in_flight and BEGUN not in scope:
            said = f"The id {_shown(request_id)} is in use by a request that is not answered yet"
            await refusal(409, request_id, said)(scope, receive, send)
            return
        session.in_flight.add(stream_id)

        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                session.in_flight.discard(stream_id)  # it was refused, and is not being answered
            await send(message)

        await self._app(scope, receive, watching)


def _parsed(body: bytes) -> Mapping[str, Any]:
    """The message; empty where it is none, which the SDK answers."""
    try:
        data = pydantic_core.from_json(body)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _owner(scope: Scope) -> Owner:
    user = scope.get("user")
    return owner_of(authorization_context(user) if isinstance(user, AuthenticatedUser) else None)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 64 else f"{text[:64]}…"
