"""How many connections there may be, and how long one may take to say what it wants."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Protocol

from ....settings.tables import HttpLimitsTable

log = logging.getLogger("mcp_host.server")

USUAL_DESCRIPTORS = 64
"""How many are taken to be in use where the system does not tell."""
LONGEST_QUEUE = 2048
"""Connections that the system holds for the server until it accepts them."""
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class HttpConnection(Protocol):
    """One connection to a client.

    `awaits_header` and `awaits_body` say what the server waits for: a whole header (of a first or a
    next request), or the rest of a body; neither while it answers.
    """

    @property
    def awaits_header(self) -> bool: ...

    @property
    def awaits_body(self) -> bool: ...

    def turn_away(self, answer: bytes) -> None:
        """Send this and close the connection."""


class Door:
    """Closes connections that take too long to say what they want, and the oldest of them early
    where there is no room for another.

    A connection whose request is being answered, be it a stream of hours, is never closed here. So
    clients that send half a request and wait take nobody's place, however many they are.
    """

    def __init__(self, connections: int, timeout: float) -> None:
        self._most = connections
        self._timeout = timeout
        self._open = 0
        self._waiting: OrderedDict[HttpConnection, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def opened(self, connection: HttpConnection) -> None:
        """Count a new connection; where it is one too many, the oldest that waits is closed."""
        self._open += 1
        self._wait(connection)
        if self._open > self._most:
            log.debug("%d connections are open: the oldest that waits is closed", self._open)
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.turn_away(NO_ROOM)

    def heard(self, connection: HttpConnection) -> None:
        """Look what a connection waits for, after data came or a response has ended."""
        if connection.awaits_header:
            if connection not in self._waiting:
                self._wait(connection)
            return
        self._waiting.pop(connection, None)
        if connection.awaits_body:
            self._wait(connection)  # a pause is counted from the last piece

    def closed(self, connection: HttpConnection) -> None:
        """Forget a connection."""
        self._open -= 1
        self._waiting.pop(connection, None)

    def _wait(self, connection: HttpConnection) -> None:
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._timeout, self._close_late)

    def _close_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._waiting:
            connection, since = next(iter(self._waiting.items()))
            left = since + self._timeout - loop.time()
            if left > 0:
                self._timer = loop.call_later(left, self._close_late)
                return
            del self._waiting[connection]
            connection.turn_away(TOO_LATE)


def room(limits: HttpLimitsTable) -> tuple[int, int]:
    """How many connections may be open, and how many may be accepted at once.

    A quarter of the free descriptors stays for packs, files and programs, and for connections that
    were accepted before others could be closed.
    """
    free = _free_descriptors()
    if free is None:
        return limits.connections, LONGEST_QUEUE
    connections = min(limits.connections, max(1, free * 3 // 4))
    if connections < limits.connections and "connections" in limits.model_fields_set:
        log.warning("http.limits.connections: the file descriptors are enough for %d", connections)
    return connections, max(1, min(LONGEST_QUEUE, free // 16))


def _free_descriptors() -> int | None:
    """How many files may still be opened; None where there is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return None
    try:
        used = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        used = USUAL_DESCRIPTORS
    return max(0, most - used)
