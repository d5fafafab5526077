"""What the SDK's context of a request tells: its era, its headers, and who sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..startup.protocol import HANDSHAKE_VERSIONS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

Ctx: TypeAlias = "ServerRequestContext[Any, Any]"


def is_modern(ctx: Ctx) -> bool:
    """Whether the request is of the stateless era, 2026-07-28 and later."""
    return ctx.protocol_version not in HANDSHAKE_VERSIONS


def headers(ctx: Ctx) -> Mapping[str, str]:
    """The headers of a request over HTTP; none on stdio."""
    return getattr(ctx.request, "headers", {})


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
