"""The lane of HTTP: stateless requests of 2026-07-28, and those of sessions before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .asgi import WHOLE_BODY, Scope, again_from, read_body, whole
from .http_headers import Headers, usual_headers
from .http_sessions import FindSession, SessionRequests
from .http_stateless import StatelessRequests
from .identity import Identify, known_in
from .lane import Lane
from .requests import message


class HttpLane:
    """An ASGI application before another: it answers usual requests, and passes on all else.

    `path` is that of the endpoint, `longest` the bytes that a body may have. `identify` finds who
    presents a token; None where none are wanted. `statuses` are the HTTP statuses of errors,
    `find_session` knows the sessions, and `patience` are the seconds until an answer becomes a
    stream.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        lane: Lane,
        path: str,
        longest: int,
        identify: Identify | None,
        statuses: Mapping[int, int],
        find_session: FindSession,
        patience: float | None = None,
    ) -> None:
        self._app = app
        self._path = path
        self._longest = longest
        self._identify = identify
        self._sessions = SessionRequests(app, lane, identify, find_session)
        self._stateless = StatelessRequests(lane, identify, statuses, patience)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        headers = usual_headers(scope, self._path, self._longest)
        if headers is None or self._is_a_strangers(headers, scope):
            await self._app(scope, receive, send)
            return
        take_body = scope.pop(WHOLE_BODY, None)
        if take_body is not None:
            body = take_body()
            kept = [whole(body)]
        else:
            body, kept = await read_body(receive)
        given = message(body) if body is not None else None
        is_taken = False
        if given is not None:
            if b"mcp-session-id" in headers:
                again = again_from(kept, receive)
                is_taken = await self._sessions.take(headers, given, scope, again, send)
            else:
                exchange = self._stateless.begun(headers, given, scope, send)
                if exchange is not None:
                    await exchange
                    is_taken = True
        if not is_taken:
            await self._app(scope, again_from(kept, receive), send)

    def _is_a_strangers(self, headers: Headers, scope: Scope) -> bool:
        """Whether a token is wanted that is not there: such a request is refused, its body unread.

        Else strangers could have bodies waited for, and take up what those whose tokens are new
        need as well.
        """
        return self._identify is not None and known_in(headers, scope, self._identify) is None
