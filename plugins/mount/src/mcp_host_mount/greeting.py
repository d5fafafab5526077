"""How the worker and a server introduce themselves, in either era of the protocol."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import version
from typing import Any

from .links import LinkError, Message
from .model import HANDSHAKE, STATELESS, Greeting, Mount
from .peer import Peer, ServerError

CLIENT = {"name": "mcp-host", "version": version("mcp-host")}
KEY = "io.modelcontextprotocol/"
LOG_LEVEL = "info"
SILENCE = 10.0
"""Seconds after which a server that says nothing is greeted as one of the handshake era, too."""
DISCOVER, INITIALIZE = "server/discover", "initialize"


def greet(
    peer: Peer, mount: Mount, seconds: float, agreed: Callable[[str], None], spoken: str
) -> Greeting:
    """Agree with a server on an era: the stateless one where it speaks both.

    `spoken` is the version that it spoke before, empty where that is not known: a server that only
    knew the handshake is not asked first. `agreed` hears the version before anything else is sent.
    Raises `ServerError` and `LinkError`.
    """
    handshake_first = mount.wants_session or _is_of_handshake(spoken)
    found = _Greetings(peer, mount, seconds).agree(handshake_first)
    agreed(found.version)
    if not found.is_stateless:
        peer.notify("notifications/initialized")
        if "logging" in found.capabilities:
            peer.request("logging/setLevel", {"level": LOG_LEVEL}, lambda _: None)
    return found


class _Greetings:
    """The two greetings, and what came of each; the second follows where the first is refused.

    A server may be slow to start, or say nothing to what it does not know: after `SILENCE` both are
    on their way, and the first that is answered well counts.
    """

    def __init__(self, peer: Peer, mount: Mount, seconds: float) -> None:
        self._peer = peer
        self._until = time.monotonic() + seconds
        self._seconds = seconds
        self._replies: queue.SimpleQueue[tuple[str, Message]] = queue.SimpleQueue()
        self._params: dict[str, dict[str, Any]] = {
            DISCOVER: {"_meta": envelope(mount)},
            INITIALIZE: {
                "protocolVersion": HANDSHAKE,
                "capabilities": mount.capabilities,
                "clientInfo": CLIENT,
            },
        }

    def agree(self, handshake_first: bool) -> Greeting:
        """Return how the server has introduced itself."""
        first, second = (INITIALIZE, DISCOVER) if handshake_first else (DISCOVER, INITIALIZE)
        refused: dict[str, ServerError] = {}
        sent = {first: self._send(first)}
        while len(refused) < 2:
            is_alone = len(sent) == 1 and first == DISCOVER
            method, message = self._next(SILENCE if is_alone else None)
            if message is not None:
                found = _greeting_of(method, message)
                if isinstance(found, Greeting):
                    for other, number in sent.items():
                        if other != method:
                            self._peer.forget(number)
                    return found
                refused[method] = found
            if len(sent) == 1:
                sent[second] = self._send(second)
        raise refused[INITIALIZE]

    def _send(self, method: str) -> int:
        return self._peer.request(
            method, self._params[method], lambda message: self._replies.put((method, message))
        )

    def _next(self, silence: float | None) -> tuple[str, Message | None]:
        """Wait for the next reply; None after so many seconds of silence."""
        left = self._until - time.monotonic()
        wait = left if silence is None else min(silence, left)
        try:
            return self._replies.get(timeout=max(0.0, wait))
        except queue.Empty:
            if wait == left:
                words = f"its greeting was not answered within {self._seconds:g} s"
                raise LinkError(words) from None
            return "", None


def _greeting_of(method: str, message: Message) -> Greeting | ServerError:
    """Return the greeting that a reply is; or why it is none. Raises `LinkError`."""
    if "error" in message:
        error = message["error"] if isinstance(message["error"], dict) else {}
        if "lost" in error:
            raise LinkError(str(error["message"]))
        return ServerError(error)
    result = message.get("result")
    result = result if isinstance(result, dict) else {}
    if method == INITIALIZE:
        return _greeting(str(result.get("protocolVersion", HANDSHAKE)), result)
    if STATELESS in (result.get("supportedVersions") or ()):
        return _greeting(STATELESS, result)
    return ServerError({"message": "it speaks no version of the protocol that is known here"})


def _is_of_handshake(spoken: str) -> bool:
    return bool(spoken) and spoken < STATELESS


def envelope(mount: Mount, offers: Collection[str] | None = None) -> dict[str, Any]:
    """Return what every request of the stateless era carries.

    In that of a call stands what may be asked of its client alone, which `offers` this.
    """
    return {
        f"{KEY}protocolVersion": STATELESS,
        f"{KEY}clientCapabilities": mount.capabilities_for(offers),
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
