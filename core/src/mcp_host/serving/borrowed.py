"""Everything private that is borrowed from the SDK and from uvicorn, in this one file.

None of it is promised by its library. `tests/core/serving/test_borrowed.py` has a test for each
borrowed name, which says what to look at when a new version of the library has it no more.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

# -- the SDK

SPANS = "OpenTelemetryMiddleware"
"""The name of the class in `mcp.server._otel` that makes a span for each request."""


def without_spans(server: Server[Any]) -> None:
    """Take the middleware off a server that makes spans."""
    server.middleware[:] = [made for made in server.middleware if type(made).__name__ != SPANS]


async def serve_modern_stream(server: Server[Any], stream: Any) -> None:
    """Serve one stateless-era stream with the SDK's own loop for it.

    `Server.run` would look ahead to the first request by itself, and have every later message pass
    through a second task: an eighth of a call's round trip. Without the private function it serves
    as well, and slower.
    """
    serve = getattr(runner, "_serve_modern_stream", None)
    if serve is None:
        await server.run(stream, stream, server.create_initialization_options())
    else:
        await serve(server, stream, stream, lifespan_state={}, raise_exceptions=False)


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's sessions, with an event store of its own for each.

    The SDK reads `event_store` once for each new session; it is a plain attribute there, and one
    store for all.
    """

    def __init__(self, make_store: Callable[[], EventStore] | None, **named: Any) -> None:
        self._make_store = make_store
        super().__init__(**named)

    @property
    def event_store(self) -> EventStore | None:
        return self._make_store() if self._make_store is not None else None

    @event_store.setter
    def event_store(self, value: EventStore | None) -> None:
        """Ignore what the SDK's constructor sets."""


# -- uvicorn


class GracefulServer(uvicorn.Server):
    """uvicorn that ends its streams first, and leaves with our exit code.

    `stopping` is called when the server begins to end, `at_once` on a second signal.
    """

    def __init__(
        self, config: uvicorn.Config, stopping: Callable[[], None], at_once: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._at_once = at_once

    def end_at_once(self) -> None:
        """Begin to end, and wait for nobody."""
        self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals without raising them again at the end, which would make the code 143."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            if sys.platform == "win32":
                signal.signal(number, self._on_signal)
            else:
                loop.add_signal_handler(number, self._on_signal, number)
        yield

    def _on_signal(self, number: int, frame: FrameType | None = None) -> None:
        if self.should_exit:
            self._at_once()
        self.handle_exit(number, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that the end begins, and end without an error in the log for each stream cut."""
        self._stopping()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
