"""The embedded engine: one SQLite file that every server of this user shares."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ..model import Task
from ..settings import TasksSettings
from .file import TaskFile
from .protocol import Engine, Wish

LOOK = 1.0
"""Seconds between two looks for wishes that other servers have brought."""

T = TypeVar("T")


@asynccontextmanager
async def open_engine(settings: TasksSettings, folder: Path) -> AsyncIterator[Engine]:
    """Open the file in a folder; at the end, what this owner still runs is interrupted."""
    engine = SqliteEngine(folder)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


class SqliteEngine:
    """An engine in one SQLite file, whose work is done in a thread of its own.

    `_woken` is set when this owner itself has brought a wish.
    """

    def __init__(self, folder: Path) -> None:
        self.owner = uuid.uuid4().hex
        self._file = TaskFile(folder, self.owner)
        self._thread = ThreadPoolExecutor(1, "tasks-store")
        self._woken = asyncio.Event()

    async def open(self) -> None:
        """Open the file, make it if need be, and remove what has expired."""
        await self._do(self._file.open)

    async def close(self) -> None:
        """Note that nobody runs the tasks of this owner any more, and close the file."""
        await self._do(self._file.close)
        self._thread.shutdown()

    async def add(self, task: Task, *, running: int, kept: int) -> None:
        """As `Engine.add`."""
        await self._do(partial(self._file.add, task, running, kept))

    async def get(self, task_id: str) -> Task | None:
        """As `Engine.get`."""
        return await self._do(partial(self._file.get, task_id))

    async def change(self, task_id: str, change: Callable[[Task], Task]) -> Task | None:
        """As `Engine.change`."""
        return await self._do(partial(self._file.changed, task_id, change))

    async def wish(self, task: Task, wish: Wish) -> None:
        """As `Engine.wish`."""
        await self._do(partial(self._file.wish, task, wish))
        if task.owner == self.owner:
            self._woken.set()

    async def wishes(self, seconds: float) -> list[Wish]:
        """As `Engine.wishes`."""
        ends = time.monotonic() + seconds
        while True:
            self._woken.clear()
            found = await self._do(self._file.taken)
            left = ends - time.monotonic()
            if found or left <= 0:
                return found
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), min(LOOK, left))

    async def _do(self, work: Callable[[], T]) -> T:
        """Do a piece of work in the store's own thread, to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
