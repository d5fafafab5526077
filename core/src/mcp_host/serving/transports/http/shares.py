"""How much each caller takes up at once: streams, bodies that are read, answers that are sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ....errors import Busy
from ....settings.tables import HttpLimitsTable
from ...lane.http_headers import Headers, headers_of
from ...lane.identity import IDENTITY, Identify
from .refusals import come_again

PIECE = 128 * 1024
"""Bytes that are sent at a time: the next once the client has taken most of those before."""
RETRY_AFTER = 1
LISTEN = (b"mcp-method", b"subscriptions/listen")
"""The header of a request for a stream."""


@dataclass(slots=True)
class Use:
    """What one caller takes up."""

    requests: int = 0
    streams: int = 0
    body_bytes: int = 0
    answer_bytes: int = 0


class Shares:
    """An ASGI application before the endpoint: each caller has a share of its own.

    A caller is a subject; those that nobody knows are one. A request too many is refused before its
    body is read, so that nobody takes up the memory of all. An answer counts from when it begins to
    be sent until the client has taken it. `identify` finds who has a token; None where none are
    wanted. `check` has a token looked at that `identify` does not know yet, so that the first
    request with it counts for its subject as well.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: HttpLimitsTable,
        path: str,
        identify: Identify | None,
        check: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._path = path
        self._identify = identify
        self._check = check
        self._uses: dict[str | None, Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        subject, token = self._presented(headers, scope)
        if token and subject is None and self._check is not None:
            await self._check(token)
            subject, _ = self._presented(headers, scope)
        length = headers.get(b"content-length", b"")
        size = int(length) if length.isdigit() else None
        is_stream = scope["method"] == "GET" or LISTEN in scope["headers"]
        use = self._uses.get(subject)
        if use is None:
            use = self._uses[subject] = Use()
        refused = self._refused(use, size or 0, is_stream)
        if refused is not None:
            await come_again(429, None, refused)(scope, receive, send)
            return
        body = None
        if size is None:
            body = _Body(use)
            receive = body.counted(receive)
        use.requests += 1
        use.streams += is_stream
        use.body_bytes += size or 0
        try:
            await self._app(scope, receive, _sent(use, send))
        finally:
            use.requests -= 1
            use.streams -= is_stream
            use.body_bytes -= body.size if body is not None else size or 0
            if not use.requests:
                self._uses.pop(subject, None)

    def _presented(self, headers: Headers, scope: Scope) -> tuple[str | None, str]:
        """Whose token a request presents, and the token; None and "" where there is none."""
        if b"authorization" not in headers or self._identify is None:
            return None, ""
        scheme, _, token = headers[b"authorization"].decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None, ""
        found = scope[IDENTITY] = self._identify(token)
        return found.subject if found is not None else None, token

    def _refused(self, use: Use, size: int, is_stream: bool) -> Busy | None:
        """Why a caller may have no more; None where it may."""
        limits = self._limits
        if is_stream and use.streams >= limits.streams:
            return _too_many("streams", f"{use.streams} streams are open", limits.streams)
        if use.body_bytes and use.body_bytes + size > limits.body_bytes:
            said = f"{use.body_bytes} bytes of requests are being answered"
            return _too_many("body_bytes", said, limits.body_bytes)
        if use.answer_bytes > limits.answer_bytes:
            said = f"{use.answer_bytes} bytes of answers wait to be taken"
            return _too_many("answer_bytes", said, limits.answer_bytes)
        return None


class _Body:
    """The body of one request that does not say its length: counted as it comes."""

    def __init__(self, use: Use) -> None:
        self._use = use
        self.size = 0

    def counted(self, receive: Receive) -> Receive:
        async def receive_and_count() -> Message:
            message = await receive()
            more = len(message.get("body", b""))
            self.size += more
            self._use.body_bytes += more
            return message

        return receive_and_count


def _sent(use: Use, send: Send) -> Callable[[Any], Any]:
    """Send a long piece of an answer in parts, and count what has not been taken yet."""

    async def send_in_parts(message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= PIECE:
            await send(message)
            return
        left = len(body)
        use.answer_bytes += left
        try:
            for start in range(0, len(body), PIECE):
                part = body[start : start + PIECE]
                more = message.get("more_body", False) or start + PIECE < len(body)
                await send({**message, "body": part, "more_body": more})
                use.answer_bytes -= len(part)
                left -= len(part)
        finally:
            use.answer_bytes -= left

    return send_in_parts


def _too_many(name: str, said: str, limit: int) -> Busy:
    return Busy(
        f"You have enough under way: {said}, and [http.limits] {name} allows {limit}",
        details={"reason": "too_much_at_once", "limit": name, "retry_after": RETRY_AFTER},
    )
