"""How tasks relate as a draft has them: what waits for what, and what is part of what."""

from collections.abc import Callable, Collection, Iterable, Mapping

from ..errors import ConflictError
from ..model import Task
from ..storage import Reading
from .circles import Circles

_SHOWN_PATH = 20
_NAMED = 3


class DraftRelations:
    """The relations of a draft's tasks, `before` as the reading has them and `now` as they would
    be; what the draft has not loaded is as the reading has it.

    What is asked of the reading is kept, and `foresee` asks at once what many tasks will need: a
    question for each would take longer than all of them, where the store is far away.

    Invariants: `_kept_…` are as the reading has them; `_waiting` and `_parts` have every task that
    came to wait for another, or to be part of it, in the draft, and may have more. A circle that is
    new leads through a task of `_newly_waiting` or `_newly_nested`, which came to wait for others,
    or to be part of another, and were not looked at since. Tasks of `_nests_in_line` are in no tree
    that is tied into a circle: without these a plan of n tasks would be walked n times.
    """

    def __init__(
        self,
        reading: Reading,
        before: Mapping[str, Task | None],
        now: Mapping[str, Task | None],
        load: Callable[[Iterable[str]], None],
    ) -> None:
        self._reading = reading
        self._before = before
        self._now = now
        self._load = load
        self._waiting: dict[str, set[str]] = {}
        self._parts: dict[str, set[str]] = {}
        self._circles = Circles(reading, before, now, self._waiting)
        self._nests_in_line: set[str] = set()
        self._newly_waiting: set[str] = set()
        self._newly_nested: set[str] = set()
        self._kept_waiting: dict[str, list[str]] = {}
        self._kept_parts: dict[str, list[str]] = {}
        self._kept_parent: dict[str, str | None] = {}
        self._kept_open: dict[str, bool] = {}

    def follow(self, task_id: str, old: Task | None, task: Task | None) -> None:
        """Take note of what a task relates to from now on."""
        if task and _waits_for_more(task, old):
            self._circles.forget()
            self._newly_waiting.add(task_id)
        if task and (old is None or task.subtask_of not in (None, old.subtask_of)):
            self._nests_in_line.clear()
            self._newly_nested.add(task_id)
        for blocker in task.blockers if task else ():
            self._waiting.setdefault(blocker, set()).add(task_id)
        if task and task.subtask_of:
            self._parts.setdefault(task.subtask_of, set()).add(task_id)

    # Asking the reading for many at once

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Ask at once for what is looked at where these tasks wait for others, or are part of
        others, from now on."""
        found = list(tasks)
        waiting = [task for task in found if task.blockers]
        self._circles.foresee([task for task in waiting if self._is_newly_waiting(task)])
        self._learn_parts([task.task_id for task in found])
        parents = {task.subtask_of for task in found if task.subtask_of}
        beside = {one for task in waiting if self._has_parts(task.task_id) for one in task.blockers}
        self._learn_parents(parents | beside)

    def _is_newly_waiting(self, task: Task) -> bool:
        """Whether a task, as it would be, is to be looked at for a circle."""
        kept = self._now.get(task.task_id)
        return task.task_id in self._newly_waiting or _waits_for_more(task, kept)

    def foresee_ends(self, tasks: Collection[Task]) -> None:
        """Ask at once for what is looked at where these tasks are completed."""
        ids = [task.task_id for task in tasks]
        self._learn_parts(ids)
        groups = [*(task.blockers for task in tasks), *(self._kept_parts[one] for one in ids)]
        left = self.open_among({one for group in groups for one in group})
        # The first few of those that are open are told by their names.
        self._load({one for group in groups for one in sorted(left & {*group})[:_NAMED]})

    def foresee_deletion(self, ids: Collection[str]) -> None:
        """Ask at once for what is changed where these tasks are deleted."""
        self._learn_waiting(ids)
        self._learn_parts(ids)
        kept = (self._kept_waiting, self._kept_parts)
        self._load({other for known in kept for one in ids for other in known[one]})

    def _learn_waiting(self, ids: Collection[str]) -> None:
        missing = self._missing(ids, self._kept_waiting)
        self._kept_waiting.update({one: [] for one in ids if one not in self._kept_waiting})
        self._kept_waiting.update(self._reading.waiting(missing) if missing else {})

    def _learn_parts(self, ids: Collection[str]) -> None:
        missing = self._missing(ids, self._kept_parts)
        self._kept_parts.update({one: [] for one in ids if one not in self._kept_parts})
        self._kept_parts.update(self._reading.subtasks(missing) if missing else {})

    def _learn_parents(self, ids: Collection[str]) -> None:
        """Learn of each of these what it is part of, and so on upwards."""
        missing = self._missing(ids, self._kept_parent)
        self._kept_parent.update({one: None for one in ids if one not in self._kept_parent})
        self._kept_parent.update(self._reading.parents(missing) if missing else {})

    def _missing(self, ids: Collection[str], known: Collection[str]) -> list[str]:
        """Return what is to be asked: of what is new in the draft the reading knows nothing."""
        return [one for one in ids if one not in known and self._before.get(one, one) is not None]

    # What waits for a task, and its parts

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that each of these blocks."""
        self._learn_waiting(ids)
        found: dict[str, list[str]] = {}
        for one in ids:
            others = {*self._kept_waiting[one], *self._waiting.get(one, ())}
            found[one] = [other for other in sorted(others) if self._waits(other, one)]
        return found

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that are part of each of these."""
        self._learn_parts(ids)
        found: dict[str, list[str]] = {}
        for one in ids:
            parts = {*self._kept_parts[one], *self._parts.get(one, ())}
            found[one] = [part for part in sorted(parts) if self._is_part(part, one)]
        return found

    def _waits(self, other: str, task_id: str) -> bool:
        """Whether a task that was kept as waiting, or came to wait, does so now."""
        task = self._now.get(other)
        return task_id in task.blockers if task else other not in self._now

    def _is_part(self, other: str, task_id: str) -> bool:
        """Whether a task that was kept as a part, or came to be one, is so now."""
        task = self._now.get(other)
        return task.subtask_of == task_id if task else other not in self._now

    def referring(self, task_id: str) -> list[Task]:
        """Return the tasks whose blockers or parent name this one."""
        ids = {*self.waiting([task_id])[task_id], *self.subtasks([task_id])[task_id]}
        self._load(ids)
        return [task for one in sorted(ids) if (task := self._now[one])]

    def _has_parts(self, task_id: str) -> bool:
        return bool(self._parts.get(task_id) or self._kept_parts.get(task_id))

    def open_among(self, ids: Collection[str]) -> set[str]:
        missing = [one for one in ids if one not in self._now and one not in self._kept_open]
        if missing:
            kept = self._reading.open_among(missing)
            self._kept_open.update({one: one in kept for one in missing})
        found = set()
        for one in ids:
            task = self._now.get(one)
            if task.is_open if task else one not in self._now and self._kept_open[one]:
                found.add(one)
        return found

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        """The open tasks that each of these blocks, at most so many of those that are kept."""
        kept = self._reading.open_waiting(ids, limit)
        found: dict[str, list[str]] = {}
        for task_id in ids:
            others = {other for other in kept.get(task_id, ()) if other not in self._now}
            changed = self._waiting.get(task_id, set()) | {*kept.get(task_id, ())} - others
            for other in changed:
                task = self._now.get(other)
                if task and task.is_open and task_id in task.blockers:
                    others.add(other)
            if others:
                found[task_id] = sorted(others)
        return found

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that were found during each of these."""
        kept = self._reading.discovered(ids)
        changed = [task for task in self._now.values() if task]
        found: dict[str, list[str]] = {}
        for task_id in ids:
            others = {other for other in kept.get(task_id, ()) if other not in self._now}
            others |= {one.task_id for one in changed if one.discovered_from == task_id}
            if others:
                found[task_id] = sorted(others)
        return found

    # What a task is part of

    def is_held_up(self, task: Task) -> bool:
        """Whether one of those that the task is part of waits for a task outside of itself."""
        above = self._above(task.task_id)
        self._load(above)
        for parent in (found for one in above if (found := self._now[one])):
            open_blockers = self.open_among(parent.blockers) if parent.is_open else ()
            for blocker in open_blockers:
                if parent.task_id not in (blocker, *self._above(blocker)):
                    return True
        return False

    def waits_within(self, task: Task) -> str | None:
        """Say where a task waits for one that it is part of, or for a part of its own."""
        above = {*self._above(task.task_id)} if task.blockers else set()
        has_parts = bool(task.blockers) and self._has_known_parts(task.task_id)
        for blocker in task.blockers[:_SHOWN_PATH]:
            if blocker in above:
                return (
                    f"“{task.name}” waits for “{self._name(blocker)}”, which it is part of: it "
                    "cannot be begun before the whole is closed."
                )
            if has_parts and task.task_id in self._above(blocker):
                return (
                    f"“{task.name}” waits for its own part “{self._name(blocker)}”, which a part "
                    "need not be waited for: completing a task with open parts warns by itself."
                )
        return None

    def _above(self, task_id: str) -> list[str]:
        """Return the task that this one is part of, and so on upwards."""
        found: dict[str, None] = {}
        here = self._parent(task_id)
        while here and here != task_id and here not in found and self._is_there(here):
            found[here] = None
            here = self._parent(here)
        return list(found)

    def _parent(self, task_id: str) -> str | None:
        if task_id in self._now:
            task = self._now[task_id]
            return task.subtask_of if task else None
        if task_id not in self._kept_parent:
            self._learn_parents([task_id])
        return self._kept_parent[task_id]

    def _is_there(self, task_id: str) -> bool:
        return self._now.get(task_id, task_id) is not None

    def _has_known_parts(self, task_id: str) -> bool:
        self._learn_parts([task_id])
        return self._has_parts(task_id)

    def _name(self, task_id: str) -> str:
        self._load([task_id])
        task = self._now[task_id]
        return task.name if task else task_id

    # Circles

    def refuse_cycles(self, task: Task) -> None:
        """Raise when the task came to wait for itself, or to be part of itself, with the path
        shown."""
        if task.task_id in self._newly_waiting and task.blockers:
            path = self._circles.way(task.blockers, task.task_id)
            if path:
                raise self._cycle([task.task_id, *path], "wait for itself", "blockers")
        # A task that nothing is part of is in no circle: most that are moved are spared the walk
        # up a plan that may be thousands of levels deep.
        is_nested = task.task_id in self._newly_nested and task.subtask_of is not None
        if is_nested and self._has_known_parts(task.task_id):
            self._refuse_nesting(task)
        self._newly_waiting.discard(task.task_id)
        self._newly_nested.discard(task.task_id)

    def _refuse_nesting(self, task: Task) -> None:
        chain = dict.fromkeys([task.task_id])
        parent = task.subtask_of
        while parent and parent not in chain and parent not in self._nests_in_line:
            chain[parent] = None
            parent = self._parent(parent)
        if parent == task.task_id:
            raise self._cycle([*chain, parent], "be part of itself", "subtask_of")
        if parent not in chain:
            self._nests_in_line.update(chain)

    def _cycle(self, path: list[str], what: str, field: str) -> ConflictError:
        self._load(path)
        tasks = [self._now[task_id] for task_id in path]
        steps = [f"“{task.name}” ({task.task_id[:8]})" for task in tasks if task]
        if len(steps) > 12:
            steps = [*steps[:6], f"… {len(steps) - 11} more …", *steps[-5:]]
        return ConflictError(
            f"{steps[0]} would {what}: {' → '.join(steps)}.",
            reason="cycle",
            suggestions=[f"Leave one of these relations out of {field}."],
            details={"path": path}
            if len(path) <= _SHOWN_PATH
            else {"path": path[:_SHOWN_PATH], "path_length": len(path)},
        )


def _waits_for_more(task: Task, before: Task | None) -> bool:
    """Whether a task waits for others than it did."""
    return before is None or not {*task.blockers} <= {*before.blockers}
