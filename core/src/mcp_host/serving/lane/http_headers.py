"""The headers that a usual request over HTTP has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from ...startup.protocol import HANDSHAKE_VERSIONS, MODERN_VERSION
from .asgi import Header, Scope

Headers: TypeAlias = Mapping[bytes, bytes]
HEADERS = "mcp_host.headers"
"""Where the scope of a request has its headers by name, of those that come twice the last."""

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
UNUSUAL = re.compile(rb"^(mcp-param-|origin|transfer-encoding|expect)", re.MULTILINE)
"""What headers begin with that a usual request has not; found among their names, a line each."""
JSON_TYPES = (b"application/json", b"application/json; charset=utf-8")
MODERN = MODERN_VERSION.encode()
HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_VERSIONS)


def headers_of(scope: Scope) -> Headers:
    """Return the headers of a request by name, of those that come twice the last."""
    found: Headers | None = scope.get(HEADERS)
    if found is None:
        found = scope[HEADERS] = dict(scope["headers"])
    return found


def usual_headers(scope: Scope, path: str, longest: int) -> Headers | None:
    """Return the headers of a request that may be usual; None of any other.

    That is one to `path`, whose body has at most `longest` bytes.
    """
    if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != path:
        return None
    headers = headers_of(scope)
    if UNUSUAL.search(b"\n".join(headers)) or _is_doubled(scope["headers"], headers):
        return None
    length = headers.get(b"content-length", b"")
    is_usual = (
        headers.get(b"content-type", b"").lower() in JSON_TYPES
        and _takes_both(headers.get(b"accept", b""))
        and len(length) < 10
        and length.isdigit()
        and int(length) <= longest
    )
    return headers if is_usual and _is_of_one_era(headers) else None


def _is_doubled(given: Sequence[Header], headers: Headers) -> bool:
    """Whether a header stands there twice that a usual request has once."""
    if len(given) == len(headers):
        return False
    counts = Counter(name for name, _ in given)
    return any(counts[name] > 1 for name in ONCE)


def _is_of_one_era(headers: Headers) -> bool:
    """Whether the headers are those of one era: a session is of the handshake era.

    The SDK takes the type of the content in small letters alone there.
    """
    version = headers.get(b"mcp-protocol-version")
    if b"mcp-session-id" in headers:
        is_known = version is None or version in HANDSHAKE
        return is_known and headers[b"content-type"] in JSON_TYPES
    return version == MODERN


@lru_cache(maxsize=64)  # clients send the same few
def _takes_both(accept: bytes) -> bool:
    kinds = {kind.strip() for kind in accept.split(b",")}
    return b"application/json" in kinds and b"text/event-stream" in kinds
