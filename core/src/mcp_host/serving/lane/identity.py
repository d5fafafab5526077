"""Who presents a bearer token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ...declarations.context import Caller
from .asgi import Scope
from .http_headers import Headers


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


def known_in(headers: Headers, scope: Scope, identify: Identify) -> Identity | None:
    """Return who presents the token of a request; None where nobody does."""
    if IDENTITY in scope:
        found: Identity | None = scope[IDENTITY]
        return found
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return identify(token) if scheme.lower() == "bearer" else None


def as_known(caller: Caller, known: Identity) -> Caller:
    """Return a caller as the one who presents a token."""
    return replace(caller, subject=known.subject, scopes=known.scopes, offered=known.offered)
