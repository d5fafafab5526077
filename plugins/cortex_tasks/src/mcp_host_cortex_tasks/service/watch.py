"""Notice when the branch, a task or its pull request changes, whoever changed it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import CortexError
from ..model.uris import STATUS, TASKS
from ..storage.head import read_head, tree_stamp

LOOK_EVERY = 1.0
LOOK_IDLE = 0.2
"""Seconds between two looks whether anybody watches, while nobody does."""
WATCHED_TASKS = 20

Facts = dict[str, Any]


class Watch:
    """Looks at the working tree every second and at tasks every `every` seconds, while a client
    watches a resource of the pack.

    While nobody does, nothing is looked at, on disk or on the network. A forge is asked only about
    tasks that are watched, and those that the watched state of the working tree is about, and
    answers what is new. `every` 0 never asks for tasks.
    """

    def __init__(
        self,
        folder: Path,
        changed: Callable[[str], None],
        watched: Callable[[], frozenset[str]],
        *,
        every: float,
    ) -> None:
        self._folder = folder
        self._changed = changed
        self._watched = watched
        self._every = every
        self._stands_at: int | None = None
        self._seen: dict[Any, Any] | None = None
        self._stood: Facts | None = None
        self._tags: dict[int, dict[str, str]] = {}

    def stands_at(self, number: int | None) -> None:
        """Note the task that the state of the working tree was last read to be about."""
        self._stands_at = number

    async def run(
        self,
        tasks: Callable[[], Awaitable[Facts]],
        feedback: Callable[[int, Mapping[str, str]], Awaitable[Facts]],
        standing: Callable[[], Awaitable[Facts]],
    ) -> None:
        """Look until cancelled; `tasks` asks for them, `feedback` for what is new of one, and
        `standing` for the state of the working tree."""
        before: object = None
        waited = self._every  # the first look at the tasks is what later ones are compared with
        while True:
            if not self._watched():
                before, waited = None, self._every
                self._seen = self._stood = None
                self._tags.clear()
                await asyncio.sleep(LOOK_IDLE)
                continue
            if before is None:
                before = self._look_at_tree()
            if self._every and waited >= self._every:
                await self._look_at_tasks(tasks)
                if STATUS in self._watched():
                    await self._look_at_edits(standing)
                for number in self._numbers():
                    await self._look_at_request(number, feedback)
                waited = 0.0
            await asyncio.sleep(LOOK_EVERY)
            waited += LOOK_EVERY
            now = self._look_at_tree()
            if now != before:
                before = now
                self._changed(STATUS)

    def _numbers(self) -> list[int]:
        """Return the tasks whose requests to ask for."""
        watched = self._watched()
        said = (uri.removeprefix(f"{TASKS}/") for uri in watched)
        numbers = {int(one) for one in said if one.isascii() and one.isdigit()}
        if STATUS in watched and self._stands_at is not None:
            numbers.add(self._stands_at)
        self._tags = {one: tags for one, tags in self._tags.items() if one in numbers}
        return sorted(numbers)[:WATCHED_TASKS]

    def _look_at_tree(self) -> object:
        return read_head(self._folder), tree_stamp(self._folder)

    async def _look_at_tasks(self, tasks: Callable[[], Awaitable[Facts]]) -> None:
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

    async def _look_at_edits(self, standing: Callable[[], Awaitable[Facts]]) -> None:
        try:
            now = await standing()
        except CortexError:
            return
        before, self._stood = self._stood, now
        if before is not None and before != now:
            self._changed(STATUS)

    async def _look_at_request(
        self, number: int, feedback: Callable[[int, Mapping[str, str]], Awaitable[Facts]]
    ) -> None:
        known = self._tags.get(number, {})
        try:
            told = await feedback(number, known)
        except CortexError:
            return
        if not told["changed"] or not isinstance(told["tags"], dict):
            return
        self._tags[number] = told["tags"]
        if known and told["tags"] != known:  # the first look is what later ones are compared with
            self._changed(f"{TASKS}/{number}")
            self._changed(STATUS)
