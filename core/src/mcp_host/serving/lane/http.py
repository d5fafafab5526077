"""The lane of HTTP: stateless requests of 2026-07-28, and those of sessions before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from ...declarations.context import Caller
from ...runtime.alarms import Alarms
from ...startup.protocol import HANDSHAKE_VERSIONS, MODERN_VERSION
from .exchange import AT_ONCE, JSON_TYPE, Exchange
from .lane import Lane
from .requests import NAMES, Envelopes, Usual, cancelled, coerced, message, usual
from .sessions import BEGUN, BegunCall, Session

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Headers: TypeAlias = Mapping[bytes, bytes]


class Identity(NamedTuple):
    """What a bearer token proves, until a time of `time.time()`; `offered` as in `Caller`."""

    subject: str
    scopes: frozenset[str]
    offered: frozenset[str] | None = None
    expires: float | None = None


Identify: TypeAlias = Callable[[str], Identity | None]
"""Finds who has a bearer token; None for one that nobody has."""
IDENTITY = "mcp_host.identity"
"""Where the scope of a request has who presents its token, once that was looked up."""
FindSession: TypeAlias = Callable[[str, str | None], Session | None]
"""Finds the session of an id that this subject began."""

ONCE = frozenset(
    name.encode()
    for name in (
        "accept",
        "authorization",
        "content-length",
        "content-type",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
    )
)
"""Headers that a usual request has at most once."""
UNUSUAL = (b"mcp-param-", b"origin", b"transfer-encoding", b"expect")
"""What headers begin with that a usual request has not."""
JSON_TYPES = (b"application/json", b"application/json; charset=utf-8")
MODERN = MODERN_VERSION.encode()
HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_VERSIONS)


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
        self._lane = lane
        self._path = path
        self._longest = longest
        self._identify = identify
        self._statuses = statuses
        self._find_session = find_session
        self._patience = patience
        self._envelopes = Envelopes(None)
        self._alarms = Alarms()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        headers = self._usual_headers(scope)
        if headers is None:
            await self._app(scope, receive, send)
            return
        body, kept = await _body(receive)
        given = message(body) if body is not None else None
        is_taken = False
        if given is not None:
            again = _again(kept, receive)
            if b"mcp-session-id" in headers:
                is_taken = await self._in_session(headers, given, scope, again, send)
            else:
                is_taken = await self._alone(headers, given, scope, receive, send)
        if not is_taken:
            await self._app(scope, _again(kept, receive), send)

    def _usual_headers(self, scope: Scope) -> Headers | None:
        """The headers of a request that may be usual; None of any other."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            return None
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name.startswith(UNUSUAL) or (name in headers and name in ONCE):
                return None
            headers[name] = value
        length = headers.get(b"content-length", b"")
        is_usual = (
            headers.get(b"content-type", b"").lower() in JSON_TYPES
            and _takes_both(headers.get(b"accept", b""))
            and len(length) < 10
            and length.isdigit()
            and int(length) <= self._longest
        )
        return headers if is_usual and _is_of_one_era(headers) else None

    # -- requests of 2026-07-28

    async def _alone(
        self, headers: Headers, given: dict[str, Any], scope: Scope, receive: Any, send: Any
    ) -> bool:
        """Answer a request without a session; False where the lane does not take it."""
        request = usual(given)
        caller = self._caller(request, headers, scope) if request is not None else None
        if request is None or caller is None:
            return False
        at_once = scope.get(AT_ONCE)
        exchange = Exchange(self._statuses, self._patience, self._alarms, receive, send, at_once)
        await exchange.run(self._lane, request, caller)
        return True

    def _caller(self, request: Usual, headers: Headers, scope: Scope) -> Caller | None:
        """Who sends a request that the lane takes; None where it does not."""
        key = NAMES.get(request.method)
        fits = (
            key is not None
            and headers.get(b"mcp-method") == request.method.encode()
            and _names(headers.get(b"mcp-name", b""), request.name)
        )
        caller = self._envelopes.caller(request.meta) if fits else None
        if caller is None or not self._lane.takes_headers(request):
            return None
        if self._identify is not None:
            known = self._known(headers, scope)
            if known is None:
                return None
            subject, scopes, offered, _ = known
            caller = replace(caller, subject=subject, scopes=scopes, offered=offered)
        return caller if self._lane.takes(request, caller) else None

    # -- requests in a session

    async def _in_session(
        self, headers: Headers, given: dict[str, Any], scope: Scope, receive: Any, send: Any
    ) -> bool:
        """Answer a request in a session; False where the lane does not take it."""
        known = self._known(headers, scope) if self._identify is not None else None
        if self._identify is not None and known is None:
            return False
        session_id = headers[b"mcp-session-id"]
        session = self._find_session(
            session_id.decode("latin-1"), known.subject if known is not None else None
        )
        if session is None:
            return False
        request = usual(given)
        if request is None:
            return await _cancels(session, cancelled(given)) and await _accept(session_id, send)
        caller = caller_in(session.connection.caller, known)
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
            await _send(send, status, body, session_id)

        begun = scope[BEGUN] = BegunCall(request, session, go_on)
        await begun.run(self._lane, caller, respond)
        return True

    def _known(self, headers: Headers, scope: Scope) -> Identity | None:
        """Who presents the token of a request; None where nobody does."""
        if IDENTITY in scope:
            found: Identity | None = scope[IDENTITY]
            return found
        assert self._identify is not None
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return self._identify(token) if scheme.lower() == "bearer" else None


def caller_in(caller: Caller | None, known: Identity | None) -> Caller | None:
    """Who calls in a session; None until its client has said that it is initialized."""
    if caller is None or known is None:
        return caller
    return replace(caller, subject=known.subject, scopes=known.scopes, offered=known.offered)


def _is_of_one_era(headers: Headers) -> bool:
    """Whether the headers are those of one era: a session is of the handshake era.

    The SDK takes the type of the content in small letters alone there.
    """
    version = headers.get(b"mcp-protocol-version")
    if b"mcp-session-id" in headers:
        is_known = version is None or version in HANDSHAKE
        return is_known and headers[b"content-type"] in JSON_TYPES
    return version == MODERN


async def _cancels(session: Session, request_id: int | str | None) -> bool:
    call = session.begun.get(coerced(request_id)) if request_id is not None else None
    return call is not None and await call.cancel()


async def _accept(session_id: bytes, send: Any) -> bool:
    """Say that a notification was taken."""
    await _send(send, 202, b"", session_id)
    return True


async def _send(send: Any, status: int, body: bytes, session_id: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    headers = [length, JSON_TYPE, (b"mcp-session-id", session_id)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Any) -> tuple[bytes | None, list[Message]]:
    """The body, and the messages that it came in; None where the client left meanwhile."""
    kept: list[Message] = []
    while True:
        told = await receive()
        kept.append(told)
        if told["type"] != "http.request":
            return None, kept
        if not told.get("more_body"):
            if len(kept) == 1:
                return told.get("body", b""), kept
            body = b"".join(part.get("body", b"") for part in kept)
            return body, [{"type": "http.request", "body": body, "more_body": False}]


def _again(kept: list[Message], receive: Any) -> Any:
    """What gives messages that were taken already once more, and then those that come."""
    waiting = iter(kept)

    async def again() -> Any:
        for told in waiting:
            return told
        return await receive()

    return again


@lru_cache(maxsize=64)  # clients send the same few
def _takes_both(accept: bytes) -> bool:
    kinds = {kind.strip() for kind in accept.split(b",")}
    return b"application/json" in kinds and b"text/event-stream" in kinds


def _names(header: bytes, name: str) -> bool:
    """Whether a header names what the body does, with no spelling of its own."""
    return name.isascii() and header == name.encode() and not header.startswith(b"=?")
