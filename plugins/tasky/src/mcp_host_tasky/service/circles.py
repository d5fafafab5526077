"""Whether a task comes to wait for itself, found by a walk from both sides: what it waits for may
be a plan of thousands of levels, and so may what waits for it, but seldom both."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Protocol, TypeAlias

from ..model import Task

_Beside: TypeAlias = Callable[[Collection[str]], Mapping[str, Collection[str]]]
_FIRST_LOOK = 32
_LONGEST_LOOK = 4_096
_NEXT = 4
"""So many of those beside each task are asked for, where many tasks are looked at."""


class Waits(Protocol):
    """Who knows what waits for what: a reading."""

    def upstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]: ...

    def downstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]: ...


class Circles:
    """What waits for what, as a draft has it: `before` and `now` are its tasks, and `waiting` has
    what came to wait for a task in it.

    Invariants: `_upstream` and `_downstream` are as the reading has them. No way that leads back
    leads through a task of `_in_line`: without these a plan of n tasks would be walked n times.
    """

    def __init__(
        self,
        reading: Waits,
        before: Mapping[str, Task | None],
        now: Mapping[str, Task | None],
        waiting: Mapping[str, Collection[str]],
    ) -> None:
        self._reading = reading
        self._before = before
        self._now = now
        self._waiting = waiting
        self._upstream: dict[str, tuple[str, ...]] = {}
        self._downstream: dict[str, tuple[str, ...]] = {}
        self._in_line: set[str] = set()
        self._look = _FIRST_LOOK

    def forget(self) -> None:
        """Take no task to be in no circle any more: one came to wait for others."""
        self._in_line.clear()

    def foresee(self, tasks: Collection[Task]) -> None:
        """Ask at once for what is next to these tasks and to their blockers, so that the walks of
        most need no question of their own."""
        asked = [task for task in tasks if not self._is_new(task.task_id)]
        self._look = max(_FIRST_LOOK, len(asked) * _NEXT)
        following = self._blockers({one for task in asked for one in task.blockers})
        # Else the walk from the blockers ends at its first step.
        further = [
            task
            for task in asked
            if len(task.blockers) > 1 or any(following[one] for one in task.blockers)
        ]
        self._waiters([task.task_id for task in further])
        self._blockers({far for task in further for one in task.blockers for far in following[one]})

    def _is_new(self, task_id: str) -> bool:
        """Whether a task is new, and nothing waits for it."""
        return self._before.get(task_id) is None and not self._waiting.get(task_id)

    def way(self, starts: Sequence[str], goal: str) -> list[str]:
        """Return a path along blockers from one of the starts to the goal, or nothing."""
        if goal in starts:
            return [goal]
        if self._is_new(goal):
            return []  # nothing is asked
        self._look = _FIRST_LOOK
        up = _Side([one for one in starts if one not in self._in_line], self._blockers)
        down = _Side([goal], self._waiters)
        while up.ahead and down.ahead:
            is_up = len(up.came_from) <= len(down.came_from)
            side, other = (up, down) if is_up else (down, up)
            met = side.step(other, self._in_line)
            if met:
                return [*reversed(up.back_from(met)), *down.back_from(met)[1:]]
        ended = down if up.ahead else up
        if ended.is_in_line():  # else it is another task's to tell of that circle
            self._in_line.update(ended.came_from)
        self._in_line.add(goal)
        return []

    def _blockers(self, ids: Collection[str]) -> Mapping[str, Collection[str]]:
        kept = [one for one in ids if one not in self._now]
        self._learn(kept, self._upstream, self._reading.upstream)
        found: dict[str, Collection[str]] = {one: self._upstream[one] for one in kept}
        for one in ids:
            if one in self._now:
                task = self._now[one]
                found[one] = task.blockers if task else ()
        return found

    def _waiters(self, ids: Collection[str]) -> Mapping[str, Collection[str]]:
        # What is new in the draft was waited for by nothing before it.
        kept = [one for one in ids if self._before.get(one, one) is not None]
        self._learn(kept, self._downstream, self._reading.downstream)
        return {one: self._waiters_now(one) for one in ids}

    def _waiters_now(self, task_id: str) -> list[str]:
        new = sorted(self._waiting.get(task_id, ()))
        waiters = dict.fromkeys([*self._downstream.get(task_id, ()), *new])
        return [one for one in waiters if one not in self._now or self._waits(one, task_id)]

    def _waits(self, changed: str, task_id: str) -> bool:
        task = self._now[changed]
        return task is not None and task_id in task.blockers

    def _learn(
        self,
        ids: Collection[str],
        known: dict[str, tuple[str, ...]],
        ask: Callable[[Collection[str], int], dict[str, tuple[str, ...]]],
    ) -> None:
        """Ask for what is not known of these tasks, and a part of what will be asked next."""
        missing = [one for one in ids if one not in known]
        if missing:
            known.update(dict.fromkeys(missing, ()))
            known.update(ask(missing, self._look))
            self._look = min(self._look * 2, _LONGEST_LOOK)


class _Side:
    """One side of a walk: the tasks that it met, by where it came from, and those it goes on from;
    `beside` knows what follows each of several tasks."""

    def __init__(self, starts: Sequence[str], beside: _Beside) -> None:
        self.came_from: dict[str, str | None] = dict.fromkeys(starts)
        self.ahead = list(starts)
        self._beside = beside

    def step(self, other: "_Side", in_line: Collection[str]) -> str | None:
        """Go on by one level, past no task that is in line; return where the sides met."""
        level, self.ahead = self.ahead, []
        following = self._beside(level)
        for here in level:
            for one in following[here]:
                if one in self.came_from or one in in_line:
                    continue
                self.came_from[one] = here
                if one in other.came_from:
                    return one
                self.ahead.append(one)
        return None

    def back_from(self, end: str) -> list[str]:
        """Return the path from a task that was met to where the walk began."""
        path = [end]
        while (step := self.came_from[path[-1]]) is not None:
            path.append(step)
        return path

    def is_in_line(self) -> bool:
        """Whether no circle is among the tasks of a walk that came to its end."""
        following = self._beside(self.came_from)
        graph = {one: [n for n in following[one] if n in self.came_from] for one in self.came_from}
        with suppress(CycleError):
            TopologicalSorter(graph).prepare()
            return True
        return False
