"""OAuth's side of a protected resource: its metadata (RFC 9728), and what callers are told to get.

A caller with a token of an issuer that lacks a scope is answered 403 with the scopes that it needs,
before anything else is; one without a token that counts is answered 401 with where to get one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ....declarations.context import Caller
from ....host import Host
from ....packs.access import is_challenged
from ....packs.entry import Entry
from ....packs.search_tools import CALL, CALL_READ_ONLY
from ....settings.tables import RESERVED_PACK_NAME, HttpTable
from ....startup.protocol import LISTS
from ...addresses import PATH
from ...lane.requests import message as parsed
from .errors import IssuerUnreachableError
from .tokens import KnownToken

if TYPE_CHECKING:
    from .issuers import Issuers

WELL_KNOWN = "/.well-known/oauth-protected-resource"
RETRY_AFTER = "5"
"""Seconds after which an issuer that does not answer is asked again."""


class ProtectedResource:
    """The endpoint as a resource that issuers give tokens for.

    It is known by the audience of its tokens where that is a URL, else by the address at which it
    was asked.
    """

    def __init__(self, host: Host, http: HttpTable, issuers: Issuers) -> None:
        self._host = host
        self._issuers = issuers
        self._servers = [table.issuer for table in http.auth]
        urls = [table.audience for table in http.auth if "://" in table.audience]
        self._known_as = urls[0] if urls else None

    @property
    def paths(self) -> list[str]:
        """Where its metadata is."""
        path = urlsplit(self._known_as).path.rstrip("/") if self._known_as else PATH
        return list(dict.fromkeys((WELL_KNOWN + path, WELL_KNOWN + PATH, WELL_KNOWN)))

    async def metadata(self, request: Request) -> Response:
        """Tell who gives tokens for it, and which scopes there are."""
        told = {
            "resource": self._resource(request.scope),
            "authorization_servers": self._servers,
            "scopes_supported": sorted(await self._scopes()),
            "bearer_methods_supported": ["header"],
        }
        return JSONResponse(told, headers={"Access-Control-Allow-Origin": "*"})

    def challenge(self, request: Scope, /, **told: str) -> str:
        """What a caller is told to get, as `WWW-Authenticate` has it."""
        parts = urlsplit(self._resource(request))
        where = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"
        words = {**told, "resource_metadata": where}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in words.items())

    def first_scopes(self) -> str:
        """The least that lets a caller do anything: to read of each pack."""
        own = f"{RESERVED_PACK_NAME}:"
        reading = (one for one in self._in_use() if one.endswith(":read"))
        return " ".join(sorted(one for one in reading if not one.startswith(own)))

    def _in_use(self) -> set[str]:
        """The scopes that something of a pack needs."""
        catalog = self._host.catalog
        return {entry.scope for what in LISTS.values() for entry in catalog.entries(what)}

    async def _scopes(self) -> set[str]:
        """The scopes of the packs, as far as an issuer gives them."""
        offered = await self._issuers.offered()
        return self._in_use() if "*" in offered or not offered else self._in_use() & offered

    def _resource(self, scope: Scope) -> str:
        if self._known_as is not None:
            return self._known_as
        return f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}{PATH}"


class RequireToken:
    """Lets those in who have presented a token that counts.

    A stream that tells of changes ends with the token that it was opened with.
    """

    def __init__(self, app: ASGIApp, resource: ProtectedResource | None) -> None:
        self._app = app
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = getattr(scope.get("user"), "access_token", None)
        if token is not None:
            left = None
            if token.expires_at is not None and _is_stream(scope):
                left = max(0.0, token.expires_at - time.time())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._app(scope, receive, send)
            return
        is_given = "authorization" in Headers(scope=scope)
        await _refused(scope, self._resource, is_given)(scope, receive, send)


class IssuersAnswer:
    """Says that a token cannot be checked at the moment, where its issuer does not answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except IssuerUnreachableError as error:
            told = {"error": "temporarily_unavailable", "error_description": str(error)}
            answer = JSONResponse(told, 503, {"Retry-After": RETRY_AFTER})
            await answer(scope, receive, send)


class ScopeCheck:
    """Answers 403 to callers of an issuer whose token lacks the scope of what they ask for."""

    def __init__(self, app: ASGIApp, host: Host, resource: ProtectedResource, longest: int) -> None:
        self._app = app
        self._host = host
        self._resource = resource
        self._longest = longest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = scope["user"].access_token
        if scope["method"] != "POST" or not isinstance(token, KnownToken) or token.offered is None:
            await self._app(scope, receive, send)
            return
        body, again = await _body(receive, self._longest)
        caller = Caller(
            subject=token.subject, scopes=frozenset(token.scopes), offered=token.offered
        )
        asked = parsed(body) if body is not None else None
        missing = {
            entry.scope
            for entry in self._entries(asked or {}, caller)
            if is_challenged(entry, caller)
        }
        if not missing:
            await self._app(scope, again, send)
            return
        scopes = " ".join(sorted(missing))
        description = f"This needs the scope {scopes}"
        told = {"error": "insufficient_scope", "error_description": description}
        challenge = self._resource.challenge(
            scope, error="insufficient_scope", scope=scopes, error_description=description
        )
        answer = JSONResponse(told, 403, {"WWW-Authenticate": challenge})
        await answer(scope, again, send)

    def _entries(self, asked: Mapping[str, Any], caller: Caller) -> Iterator[Entry]:
        """What a request is about; nothing where that is not known."""
        method, params = asked.get("method"), asked.get("params")
        if not isinstance(method, str) or not isinstance(params, dict):
            return
        catalog, found = self._host.catalog, []
        if method == "tools/call":
            entry = catalog.find("tools", str(params.get("name")), caller)
            found = [entry, self._led_to(entry, params.get("arguments"), caller)]
        elif method == "prompts/get":
            found = [catalog.find("prompts", str(params.get("name")), caller)]
        elif method in ("resources/read", "resources/subscribe"):
            found = [catalog.resource(str(params.get("uri")), caller)[0]]
        elif method == "subscriptions/listen":
            wanted = params.get("notifications")
            uris = wanted.get("resourceSubscriptions") if isinstance(wanted, dict) else None
            for uri in uris if isinstance(uris, list) else ():
                found.append(catalog.resource(str(uri), caller)[0])
        else:
            found = [catalog.methods.get(method)]
        yield from (entry for entry in found if entry is not None)

    def _led_to(self, entry: Entry | None, arguments: Any, caller: Caller) -> Entry | None:
        """The tool that one of the host's own tools is to call."""
        if entry is None or entry.pack != RESERVED_PACK_NAME or not isinstance(arguments, dict):
            return None
        if entry.target not in (CALL, CALL_READ_ONLY):
            return None
        return self._host.catalog.find("tools", str(arguments.get("name")), caller)


def _is_stream(scope: Scope) -> bool:
    """Whether a request asks to be told of changes."""
    headers = Headers(scope=scope)
    return scope["method"] == "GET" or headers.get("mcp-method") == "subscriptions/listen"


def _refused(scope: Scope, resource: ProtectedResource | None, is_given: bool) -> Response:
    error, description = "invalid_token", "Authentication required"
    told = {"error": error, "error_description": description}
    words = told if is_given or resource is None else {}
    if resource is None:
        challenge = "Bearer " + ", ".join(f'{name}="{said}"' for name, said in words.items())
    else:
        challenge = resource.challenge(scope, **words, scope=resource.first_scopes())
    return Response(
        json.dumps(told),
        401,
        {"WWW-Authenticate": challenge},
        media_type="application/json",
    )


async def _body(receive: Receive, longest: int) -> tuple[bytes | None, Receive]:
    """The body, and what gives it once more; None where it is too long, or its sender has left."""
    kept: list[Message] = []
    size, body = 0, None
    while True:
        told = await receive()
        kept.append(told)
        size += len(told.get("body", b""))
        if told["type"] != "http.request" or size > longest:
            break
        if not told.get("more_body"):
            body = b"".join(part.get("body", b"") for part in kept)
            break
    waiting = iter(kept)

    async def again() -> Message:
        for one in waiting:
            return one
        return await receive()

    return body, again
