"""What is borrowed from uvicorn: how it starts, and how it ends."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn


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
