"""What goes out to clients beside the answers: one message after the other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

log = logging.getLogger("mcp_host.server")

Send: TypeAlias = Callable[[], Awaitable[Any]]


class Outbox:
    """Sends messages in the order in which they were given, each when the last one is out."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Send] = deque()
        self._task: asyncio.Task[None] | None = None

    def post(self, send: Send) -> None:
        """Add a message, in any thread."""
        try:
            self._loop.call_soon_threadsafe(self.take, send)
        except RuntimeError:  # the loop has ended: nobody is left to hear it
            return

    def take(self, send: Send) -> None:
        """Add a message, on the loop itself."""
        self._waiting.append(send)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            try:
                await self._waiting.popleft()()
            except Exception as error:
                log.debug("a message could not be sent: %s", error)

    async def flush(self) -> None:
        """Wait until every message is out."""
        if self._task is not None:
            await self._task
