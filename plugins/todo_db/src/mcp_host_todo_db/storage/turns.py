"""One after another, and each to its end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Turns:
    """Runs work in turn; who stops waiting before their turn has not run at all.

    Work that has begun is finished even when nobody waits for it any more: an SQLite statement
    that is abandoned half-way keeps the file locked for everybody.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: asyncio.Task[Any] | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._turn.acquire()
        self._running = task = asyncio.create_task(work())
        task.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Wait for what has begun."""
        if self._running is not None:
            await asyncio.wait([self._running])
