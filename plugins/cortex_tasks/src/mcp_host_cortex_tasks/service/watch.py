"""Notice when the branch or a task changes, whoever changed it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ..errors import CortexError
from ..model.uris import STATUS, TASKS
from ..storage.head import read_head

LOOK_EVERY = 1.0


class Watch:
    """Looks at HEAD every second and at the tasks every `every` seconds, once somebody cares.

    Nothing is looked at until a resource was first read, so that a host that only calls tools
    pays nothing. `every` 0 never asks for the tasks.
    """

    def __init__(
        self,
        folder: Path,
        changed: Callable[[str], None],
        *,
        every: float,
    ) -> None:
        self._folder = folder
        self._changed = changed
        self._every = every
        self._wanted = asyncio.Event()
        self._seen: dict[Any, Any] | None = None

    def begin(self) -> None:
        """Somebody reads a resource: from now on its changes are told."""
        self._wanted.set()

    async def run(self, tasks: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Look until cancelled; `tasks` asks for them."""
        await self._wanted.wait()
        head = read_head(self._folder)
        waited = self._every  # the first look at the tasks is what later ones are compared with
        while True:
            if self._every and waited >= self._every:
                await self._look_at_tasks(tasks)
                waited = 0.0
            await asyncio.sleep(LOOK_EVERY)
            waited += LOOK_EVERY
            now = read_head(self._folder)
            if now != head:
                head = now
                self._changed(STATUS)

    async def _look_at_tasks(self, tasks: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        try:
            rows = (await tasks())["tasks"]
        except CortexError:
            return  # whoever calls a tool is told; here the next look may do better
        now = {row.get("id"): row for row in rows}
        before, self._seen = self._seen, now
        if before is None or before == now:
            return
        self._changed(TASKS)
        for number in before.keys() | now.keys():
            if before.get(number) != now.get(number):
                self._changed(f"{TASKS}/{number}")
