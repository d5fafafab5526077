"""Which of the tasks that can be begun does the most good: what waits for it, and for that.

What is walked is bounded: the tasks for which the most wait directly are looked at further.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from ..errors import Json
from ..model import Summary

LOOKED_AT = 100
"""How many tasks, those for which the most wait directly, are ranked by all that waits."""
_PAIRS = 1_000
_LEVELS = 50


class Waits(Protocol):
    """Who knows what waits for what: a reading, or a draft of what is not kept yet."""

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]: ...


class Unblocks(NamedTuple):
    """How many open tasks wait for a task: directly, and in all, `is_cut` where no more were
    counted."""

    directly: int = 0
    in_all: int = 0
    is_cut: bool = False

    @property
    def shown(self) -> Json:
        return f"{self.in_all}+" if self.is_cut else self.in_all

    @property
    def why(self) -> str:
        """Say in words what a task that was chosen for it unblocks."""
        if not self.in_all:
            return "Nothing waits for it; it is the first by priority and due date."
        tasks = "task" if self.in_all == 1 else "tasks"
        verb = "waits" if self.in_all == 1 else "wait"
        least = "at least " if self.is_cut else ""
        direct = f", {self.directly:,} of them directly" if self.directly < self.in_all else ""
        return f"Unblocks the most: {least}{self.in_all:,} open {tasks} {verb} for it{direct}."


def unblocked_by(waits: Waits, rows: Sequence[Summary]) -> dict[str, Unblocks]:
    """Return how many open tasks wait for each of these, directly or through others."""
    graph: dict[str, list[str]] = {}
    frontier = {row.task_id for row in rows if row.unblocks}
    room = _PAIRS
    for _ in range(_LEVELS):
        if not frontier or room <= 0:
            break
        found = waits.open_waiting(sorted(frontier), room)
        graph |= {task_id: [] for task_id in frontier} | found
        waiting = {other for others in found.values() for other in others}
        room -= sum(map(len, found.values()))
        frontier = waiting - graph.keys()
    is_cut = bool(frontier) or room <= 0
    return {row.task_id: _count(graph, row, is_cut=is_cut) for row in rows}


def _count(graph: dict[str, list[str]], row: Summary, *, is_cut: bool) -> Unblocks:
    seen: set[str] = set()
    ahead = list(graph.get(row.task_id, ()))
    reaches_end = False
    while ahead:
        here = ahead.pop()
        if here not in seen:
            seen.add(here)
            reaches_end = reaches_end or here not in graph
            ahead.extend(graph.get(here, ()))
    is_less = row.unblocks > len(graph.get(row.task_id, ()))
    return Unblocks(row.unblocks, max(len(seen), row.unblocks), is_cut and (reaches_end or is_less))


def ranked(rows: Sequence[Summary], found: dict[str, Unblocks]) -> list[Summary]:
    """Return the rows, those that unblock the most first, then in the order of every list."""
    return sorted(rows, key=lambda row: (-found[row.task_id].in_all, row.sort_key))
