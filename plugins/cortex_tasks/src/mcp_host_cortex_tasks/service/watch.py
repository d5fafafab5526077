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
REMEMBERED_TASKS = 100

Facts = dict[str, Any]
_NOTHING: Any = object()


class Baseline:
    """What the next look at a thing is compared with: the last look, or what was read before it.

    A client reads, then the thing changes, then comes our first look: the client must be told.
    """

    def __init__(self) -> None:
        self.known = _NOTHING
        self.looked_at = False

    def was_read(self, found: object, *, watched: bool) -> None:
        """Note what somebody read. Once the thing is looked at, the looks count alone; until then
        the newest read counts, but while somebody watches, who may have read before, the first."""
        if not self.looked_at and (self.known is _NOTHING or not watched):
            self.known = found

    def differs(self, now: object) -> bool:
        """Tell whether a look finds something else than is known, and note what it finds."""
        before, self.known, self.looked_at = self.known, now, True
        return before is not _NOTHING and before != now

    def rest(self) -> None:
        """Note that nobody watches any more: what is read from now on counts again."""
        self.looked_at = False


class Watch:
    """Looks at the working tree every second and at tasks every `every` seconds, while a client
    watches a resource of the pack.

    While nobody does, nothing is looked at, on disk or on the network. A forge is asked only about
    tasks that are watched, and those that the watched state of the working tree is about, and
    answers what is new. `every` 0 never asks for tasks.

    Invariants: `_requests` and `_read_alone` have `REMEMBERED_TASKS` at most, the newest. All
    belongs to one event loop.
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
        self._tree = Baseline()
        self._standing = Baseline()
        self._rows = Baseline()
        self._requests: dict[int, Baseline] = {}
        self._read_alone: dict[int, Facts] = {}
        self._tags: dict[int, dict[str, str]] = {}

    # what was read

    def tree(self) -> object:
        """Return what changes with HEAD, the index and the commits: take it before a read."""
        return read_head(self._folder), tree_stamp(self._folder)

    def status_was_read(self, found: Mapping[str, Any], tree: object) -> None:
        """Note the state of the working tree as somebody read it; `tree` is from before that."""
        watched, number = bool(self._watched()), found["task_id"]
        self._stands_at = number if isinstance(number, int) else None
        self._tree.was_read(tree, watched=watched)
        self._standing.was_read(_without(found, "request"), watched=watched)
        if self._stands_at is not None:
            self._request(self._stands_at).was_read(found.get("request"), watched=watched)

    def tasks_were_read(self, found: Mapping[str, Any]) -> None:
        """Note the list of tasks as somebody read it."""
        self._rows.was_read(_by_number(found["tasks"]), watched=bool(self._watched()))

    def task_was_read(self, number: int, task: Mapping[str, Any]) -> None:
        """Note one task as somebody read it, with its request."""
        watched = bool(self._watched())
        self._request(number).was_read(task.get("request"), watched=watched)
        if self._rows.looked_at or (watched and number in self._read_alone):
            return
        self._read_alone[number] = _without(task, "comments", "request")
        while len(self._read_alone) > REMEMBERED_TASKS:
            del self._read_alone[next(iter(self._read_alone))]

    def _request(self, number: int) -> Baseline:
        """Return the baseline of a task's request; the last ones asked for are remembered."""
        found = self._requests.pop(number, None) or Baseline()
        self._requests[number] = found
        while len(self._requests) > REMEMBERED_TASKS:
            del self._requests[next(iter(self._requests))]
        return found

    # looking

    async def run(
        self,
        tasks: Callable[[], Awaitable[Facts]],
        feedback: Callable[[int, Mapping[str, str]], Awaitable[Facts]],
        standing: Callable[[], Awaitable[Facts]],
    ) -> None:
        """Look until cancelled; `tasks` asks for them, `feedback` for what is new of one, and
        `standing` for the state of the working tree."""
        waited = self._every
        while True:
            if not self._watched():
                waited = self._every
                self._rest()
                await asyncio.sleep(LOOK_IDLE)
                continue
            if self._tree.differs(self.tree()):
                self._changed(STATUS)
            if self._every and waited >= self._every:
                await self._look_at_tasks(tasks)
                if STATUS in self._watched():
                    await self._look_at_edits(standing)
                for number in self._numbers():
                    await self._look_at_request(number, feedback)
                waited = 0.0
            await asyncio.sleep(LOOK_EVERY)
            waited += LOOK_EVERY

    def _rest(self) -> None:
        for baseline in (self._tree, self._standing, self._rows, *self._requests.values()):
            baseline.rest()
        self._tags.clear()

    def _numbers(self) -> list[int]:
        """Return the tasks whose requests to ask for."""
        watched = self._watched()
        said = (uri.removeprefix(f"{TASKS}/") for uri in watched)
        numbers = {int(one) for one in said if one.isascii() and one.isdigit()}
        if STATUS in watched and self._stands_at is not None:
            numbers.add(self._stands_at)
        self._tags = {one: tags for one, tags in self._tags.items() if one in numbers}
        return sorted(numbers)[:WATCHED_TASKS]

    async def _look_at_tasks(self, tasks: Callable[[], Awaitable[Facts]]) -> None:
        try:
            now = _by_number((await tasks())["tasks"])
        except CortexError:
            return  # whoever calls a tool is told; here the next look may do better
        before = self._rows.known
        changed = {number for number, task in self._read_alone.items() if task != now.get(number)}
        self._read_alone.clear()
        if self._rows.differs(now):
            self._changed(TASKS)
            both = before.keys() | now.keys()
            changed |= {number for number in both if before.get(number) != now.get(number)}
        for number in sorted(changed):
            self._changed(f"{TASKS}/{number}")

    async def _look_at_edits(self, standing: Callable[[], Awaitable[Facts]]) -> None:
        try:
            now = await standing()
        except CortexError:
            return
        if self._standing.differs(now):
            self._changed(STATUS)

    async def _look_at_request(
        self, number: int, feedback: Callable[[int, Mapping[str, str]], Awaitable[Facts]]
    ) -> None:
        try:
            told = await feedback(number, self._tags.get(number, {}))
        except CortexError:
            return
        if not told["changed"] or not isinstance(told["tags"], dict):
            return
        self._tags[number] = told["tags"]
        if self._request(number).differs(told.get("request")):
            self._changed(f"{TASKS}/{number}")
            self._changed(STATUS)


def _by_number(rows: list[Facts]) -> dict[Any, Facts]:
    return {row.get("id"): row for row in rows}


def _without(facts: Mapping[str, Any], *keys: str) -> Facts:
    return {key: value for key, value in facts.items() if key not in keys}
