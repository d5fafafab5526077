"""The lane of HTTP in sessions: requests of the handshake era."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .asgi import Scope, respond_in
from .http_headers import Headers
from .identity import Identify, as_known, known_in
from .lane import Lane
from .requests import cancelled, coerced, usual
from .sessions import BEGUN, BegunCall, LaneSession

FindSession: TypeAlias = Callable[[str, str | None], LaneSession | None]
"""Finds the session of an id that this subject began."""


class SessionRequests:
    """Answers requests in sessions; the parameters are those of `HttpLane`."""

    def __init__(
        self,
        app: Callable[..., Any],
        lane: Lane,
        identify: Identify | None,
        find_session: FindSession,
    ) -> None:
        self._app = app
        self._lane = lane
        self._identify = identify
        self._find_session = find_session

    async def take(
        self, headers: Headers, given: dict[str, Any], scope: Scope, receive: Any, send: Any
    ) -> bool:
        """Answer a request; False where the lane does not take it.

        `receive` gives the request's own messages once more, for the SDK.
        """
        known = None
        if self._identify is not None:
            known = known_in(headers, scope, self._identify)
            if known is None:
                return False
        session_id = headers[b"mcp-session-id"]
        session = self._find_session(
            session_id.decode("latin-1"), known.subject if known is not None else None
        )
        if session is None:
            return False
        request = usual(given)
        if request is None:
            if not await _cancels(session, cancelled(given)):
                return False
            await respond_in(send, 202, b"", session_id)
            return True
        caller = session.connection.caller
        if caller is not None and known is not None:
            caller = as_known(caller, known)
        if (
            caller is None
            or request.meta
            or not self._lane.takes(request, caller)
            or str(request.id) in session.in_flight
            or coerced(request.id) in session.begun
            or not session.hold()
        ):
            return False

        async def go_on() -> None:
            await self._app(scope, receive, send)

        async def respond(status: int, body: bytes) -> None:
            await respond_in(send, status, body, session_id)

        begun = scope[BEGUN] = BegunCall(request, session, go_on)
        await begun.run(self._lane, caller, respond)
        return True


async def _cancels(session: LaneSession, request_id: int | str | None) -> bool:
    """Cancel the lane's call of an id; False where the lane has none, or the SDK is to do it."""
    call = session.begun.get(coerced(request_id)) if request_id is not None else None
    return call is not None and await call.cancel()
