"""Network addresses: which can be reached from this machine alone, and listening on one."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from ..errors import SettingsError

if TYPE_CHECKING:
    from ..settings.tables import HttpTable

PATH = "/mcp"
"""Where HTTP clients find the server at its address."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    return host == "localhost" or (is_address(host) and _parsed(host).is_loopback)


def is_address(name: str) -> bool:
    """Whether this is an IP address and no name; IPv6 may stand in brackets."""
    try:
        _parsed(name)
    except ValueError:
        return False
    return True


def _parsed(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(name.strip("[]"))


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; `OSError` where the address or the port is not to be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small writes at once (TCP_NODELAY) only where the socket names its protocol;
    # else an answer in two parts waits 40 ms for the client's acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(256)
    except BaseException:
        listening.close()
        raise
    return listening


def refuse_open_address(http: HttpTable) -> None:
    """Raise `SettingsError` where the settings would let everybody call everything."""
    if is_loopback(http.host) or http.is_authenticated or http.allow_unauthenticated:
        return
    raise SettingsError(
        f"refusing to listen on {http.host}: everybody who reaches it could call everything. "
        "Either set up tokens ([[http.tokens]] with token, subject and scopes, or [http.auth] with "
        "an issuer of tokens), or say in so many words that nobody need be known: "
        "allow_unauthenticated = true in [http]"
    )


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; `SettingsError` says why there is none, and what to do."""
    try:
        return listen(host, port)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another "
            "with --port (0 takes a free one)"
        ) from None
