"""What the SDK's context of a request tells: its era, its headers, and who sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ProtocolError
from ..startup.protocol import HANDSHAKE_VERSIONS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

Ctx: TypeAlias = "ServerRequestContext[Any, Any]"


HEADER_MISMATCH = -32020


def is_modern(ctx: Ctx) -> bool:
    """Whether the request is of the stateless era, 2026-07-28 and later."""
    return ctx.protocol_version not in HANDSHAKE_VERSIONS


def headers(ctx: Ctx) -> Mapping[str, str]:
    """The headers of a request over HTTP; none on stdio."""
    return getattr(ctx.request, "headers", {})


def check_name_header(ctx: Ctx, name: object) -> None:
    """Raise where a request of 2026-07-28 over HTTP names one thing in `Mcp-Name`, another inside.

    `name` is None where nothing inside is repeated by the header. A request without the header is
    served: the SDK's own clients send none for methods that they do not know.
    """
    header = headers(ctx).get("mcp-name")
    if name is None or header is None or not is_modern(ctx):
        return
    from mcp.shared.inbound import decode_header_value

    if decode_header_value(header) != name:
        said = f"Mcp-Name is {header[:200]!r}, and the request names {str(name)[:200]!r}"
        raise ProtocolError(HEADER_MISMATCH, said)


def identity(
    ctx: Ctx,
) -> tuple[str | None, frozenset[str] | None, frozenset[str] | None]:
    """The subject, the scopes and what more is offered of the request's token; else None each."""
    user = scope(ctx).get("user")
    token = getattr(user, "access_token", None)
    if token is None:
        return None, None, None
    return token.subject, frozenset(token.scopes), getattr(token, "offered", None)


def scope(ctx: Ctx) -> Mapping[str, Any]:
    """The scope of a request over HTTP; empty on stdio."""
    return getattr(ctx.request, "scope", None) or {}
