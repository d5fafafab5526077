"""What is borrowed from uvicorn: how it ends, and what it does with a connection."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol


class GracefulServer(uvicorn.Server):
    """uvicorn that ends its streams first, and hears no signals: the watchdog does.

    `ending` is called when the server begins to end. `queue` is how many connections the system
    holds until they are accepted.
    """

    def __init__(
        self, config: uvicorn.Config, ending: Callable[[], None], queue: int = 2048
    ) -> None:
        super().__init__(config)
        self._queue = queue
        self._ending = ending

    def end(self) -> None:
        """Begin to end; requests that run are waited for.

        The SDK's event streams end where this method of uvicorn is called, for a library of theirs
        looks on.
        """
        self.handle_exit(signal.SIGTERM, None)

    def end_at_once(self) -> None:
        """Begin to end, and wait for nobody."""
        self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and let the system hold more connections than are accepted at once.

        asyncio has one number for both; accepted at once, a flood would take every descriptor
        before one of its connections could be closed.
        """
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(self._queue)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that the end begins, and end without an error in the log for each stream cut."""
        self._ending()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


class Counts(Protocol):
    """What is told of every connection."""

    def opened(self, connection: Any) -> None:
        """A client has connected."""

    def heard(self, connection: Any) -> None:
        """Data came, or a response has ended."""

    def closed(self, connection: Any) -> None:
        """The connection is no more."""


FULL = 64 * 1024
"""Bytes that are sent without waiting for more."""


class GatheringTransport:
    """A connection that sends what is written in one go of the loop as one piece.

    uvicorn writes the head of a response and its body one after the other, each of which would be
    sent, and wake the client, by itself.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._waiting = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this, at the latest when the loop has done what it is doing."""
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting >= FULL:  # so that the transport can say when it has enough
            self.flush()
        elif len(self._pieces) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what was written."""
        if self._pieces:
            pieces, self._pieces, self._waiting = self._pieces, [], 0
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self.flush()
        self._transport.close()

    def set_protocol(self, protocol: Any) -> None:
        """Hand the connection over to another protocol."""
        self.flush()
        self._transport.set_protocol(protocol)


def counted_protocol(door: Counts) -> type[asyncio.Protocol]:
    """uvicorn's protocol of HTTP/1.1, whose connections are told to a door.

    uvicorn has `timeout_keep_alive` for the time between two requests, and nothing for a client
    that never ends its first header.
    """

    class CountedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # chosen as it runs
        @property
        def awaits_header(self) -> bool:
            """Whether the server waits for the header of a request."""
            return self.cycle is None or bool(self.cycle.response_complete)

        @property
        def awaits_body(self) -> bool:
            """Whether the server waits for the rest of a body."""
            return not self.awaits_header and bool(self.cycle.more_body)

        def turn_away(self, answer: bytes) -> None:
            """Close the connection; with this answer where it has begun to send a request."""
            if self.cycle is None or not self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(GatheringTransport(transport))
            door.opened(self)

        def on_header(self, name: bytes, value: bytes) -> None:
            """Take a header; httptools leaves the blanks behind a value, which do not count."""
            super().on_header(name, value.rstrip(b" \t"))

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            door.heard(self)

        def on_response_complete(self) -> None:
            self.transport.flush()
            super().on_response_complete()
            door.heard(self)

        def connection_lost(self, exc: Exception | None) -> None:
            door.closed(self)
            super().connection_lost(exc)

    return CountedProtocol
