"""How the worker and a server introduce themselves, in either era of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from .model import HANDSHAKE, STATELESS, Greeting, Mount
from .peer import Peer, ServerError

CLIENT = {"name": "mcp-host", "version": version("mcp-host")}
KEY = "io.modelcontextprotocol/"
LOG_LEVEL = "info"


def greet(peer: Peer, mount: Mount, seconds: float, agreed: Callable[[str], None]) -> Greeting:
    """Shake hands with a server; one that only knows the stateless era is asked who it is.

    `agreed` hears the version before anything else is sent. Raises `ServerError` and `LinkError`.
    """
    params = {
        "protocolVersion": HANDSHAKE,
        "capabilities": mount.capabilities,
        "clientInfo": CLIENT,
    }
    try:
        result = peer.ask("initialize", params, seconds)
    except ServerError as refused:
        return _discover(peer, mount, seconds, refused)
    agreed(str(result.get("protocolVersion", HANDSHAKE)))
    peer.notify("notifications/initialized")
    found = _greeting(str(result.get("protocolVersion", HANDSHAKE)), result)
    if "logging" in found.capabilities:
        peer.request("logging/setLevel", {"level": LOG_LEVEL}, lambda _: None)
    return found


def _discover(peer: Peer, mount: Mount, seconds: float, refused: ServerError) -> Greeting:
    try:
        params = {"_meta": envelope(mount)}
        result = peer.ask("server/discover", params, seconds)
    except ServerError:
        raise refused from None
    return _greeting(STATELESS, result)


def envelope(mount: Mount) -> dict[str, Any]:
    """Return what every request of the stateless era carries."""
    return {
        f"{KEY}protocolVersion": STATELESS,
        f"{KEY}clientCapabilities": mount.capabilities,
        f"{KEY}clientInfo": CLIENT,
        f"{KEY}logLevel": LOG_LEVEL,
    }


def _greeting(spoken: str, result: Mapping[str, Any]) -> Greeting:
    stamp = (result.get("_meta") or {}).get(f"{KEY}serverInfo")
    info, instructions = result.get("serverInfo") or stamp, result.get("instructions")
    capabilities = result.get("capabilities")
    return Greeting(
        spoken,
        info if isinstance(info, dict) else {},
        capabilities if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else "",
    )
