"""Which Host and Origin a request may name."""

from __future__ import annotations

import socket
from collections.abc import Awaitable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ....settings.tables import HttpTable
from ...addresses import is_address, is_loopback
from ...lane.http_headers import headers_of


class Guard:
    """Checks Host and Origin on every route, before anything else looks at the request.

    A page of a foreign site must not reach a server on this machine by a name of its own (DNS
    rebinding): on loopback only loopback's names are taken; elsewhere addresses, this machine's
    name and what the settings allow.
    """

    def __init__(self, app: ASGIApp, http: HttpTable, port: int) -> None:
        self._app = app
        self._port = port
        self._loopback = is_loopback(http.host)
        self._hosts = {host.lower() for host in http.allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in http.allowed_origins}
        self._names = {"localhost", "127.0.0.1", "[::1]"}
        self._last_host: bytes | None = None  # one that fitted
        if not self._loopback:
            self._names |= {socket.gethostname().lower(), http.host.lower()}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        return (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = headers_of(scope)
        host, origin = headers.get(b"host", b""), headers.get(b"origin", b"")
        if host != self._last_host:
            if not self._host_fits(host.decode("latin-1").lower()):
                return PlainTextResponse("Misdirected request: unknown Host", 421)
            self._last_host = host
        if origin and not self._origin_fits(origin.decode("latin-1").lower()):
            return PlainTextResponse("Forbidden: unknown Origin", 403)
        return None

    def _host_fits(self, host: str) -> bool:
        name, port = _split_port(host)
        if host in self._hosts or name in self._hosts:
            return True
        if port is not None and port != self._port:
            return False
        return name in self._names or (not self._loopback and is_address(name))

    def _origin_fits(self, origin: str) -> bool:
        if origin.rstrip("/") in self._origins:
            return True
        scheme, _, rest = origin.partition("://")
        name, port = _split_port(rest)
        return scheme in ("http", "https") and name in self._names and port == self._port


def _split_port(host: str) -> tuple[str, int | None]:
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal():
        return name, int(port)
    return host, None
