"""Bodies and responses as the messages of ASGI."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Header: TypeAlias = tuple[bytes, bytes]
JSON_TYPE: Header = (b"content-type", b"application/json")
WHOLE_BODY = "mcp_host.whole_body"
"""Where the scope of a request whose body is there whole has what takes it; absent elsewhere."""


def whole(body: bytes) -> Message:
    """The one message of a body."""
    return {"type": "http.request", "body": body, "more_body": False}


async def read_body(receive: Any) -> tuple[bytes | None, list[Message]]:
    """Return the body, and the messages that it came in; None where the client left meanwhile."""
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
            return body, [whole(body)]


def again_from(kept: list[Message], receive: Any) -> Any:
    """Return what gives messages that were taken already once more, and then those that come."""
    waiting = iter(kept)

    async def again() -> Any:
        for told in waiting:
            return told
        return await receive()

    return again


async def respond_in(send: Any, status: int, body: bytes, session_id: bytes) -> None:
    """Send a whole response to a request in a session."""
    length = (b"content-length", str(len(body)).encode())
    headers = [length, JSON_TYPE, (b"mcp-session-id", session_id)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
