"""What keeps a task from being begun besides its own blockers: an ancestor that waits.

Each row holds how many open tasks wait for it (`unblocks`) and whether an ancestor waits
(`held_up`), so that what is ready is found by an index. A blocker inside the tree of the ancestor
that waits for it holds nothing up: a parent may wait for its own parts.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections import Counter
from collections.abc import Collection
from typing import Any, Protocol

from .store import Changes

# No plain comparison: that would lead SQLite to the index of statuses.
IS_PENDING = "CASE WHEN {}.status = 'pending' THEN 1 ELSE 0 END = 1"
_WAITS = f"({IS_PENDING.format('whole')} AND whole.open_blockers > 0)"
# A tree that a merge tied into a circle is not walked for ever.
_MOST_LEVELS = 100_000


class View(Protocol):
    """What this room needs of a view of an SQL store."""

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]: ...

    def run(self, sql: str, many: Any) -> None: ...

    def add(self, table: str, column: str, key: str, rows: Any) -> None: ...

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def parents(self, ids: Collection[str]) -> dict[str, str | None]: ...

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]: ...


def count_unblocked(view: View, changes: Changes) -> None:
    """Count anew how many open tasks wait for the blockers of the tasks that changed."""
    steps: Counter[str] = Counter()
    for before, after in changes.tasks:
        steps.subtract(before.blockers if before and before.is_open else ())
        steps.update(after.blockers if after and after.is_open else ())
    changed = [(step, task_id) for task_id, step in sorted(steps.items()) if step]
    view.add("tasks", "unblocks", "task_id", changed)


def hold_up(view: View, changes: Changes, recounted: Collection[str]) -> None:
    """Bring `held_up` up to date; `recounted` are the tasks whose blockers may have changed."""
    moved, placed = set(), set()
    suspects = set(recounted)
    wholes: set[str] = set()
    for before, after in changes.tasks:
        was_of, is_of = before and before.subtask_of, after and after.subtask_of
        if before and was_of != is_of:
            moved.add(before.task_id)
            wholes.update(whole for whole in (was_of, is_of) if whole)
        if after and was_of != is_of:
            placed.add(after.task_id)
        if before and after and before.is_open != after.is_open and after.blockers:
            suspects.add(after.task_id)
    suspects |= _waiting_for_parts(view, wholes, moved) if wholes else set()
    children = view.subtasks(suspects).values() if suspects else ()
    _spread(view, placed.union(*children))


def hold_up_all(view: View) -> None:
    """Set `held_up` in a plan that did not know it before."""
    found = view.rows(
        "SELECT task_id FROM tasks WHERE subtask_of IS NOT NULL AND subtask_of IN "
        "(SELECT task_id FROM tasks WHERE open_blockers > 0)"
    )
    _spread(view, {row[0] for row in found})


def _spread(view: View, level: set[str]) -> None:
    """Set `held_up` of these tasks, and of what is below those of which it changed."""
    for _ in range(_MOST_LEVELS):
        if not level:
            return
        clause, value = view.among(sorted(level))
        tasks = view.rows(
            f"SELECT task_id, subtask_of, held_up FROM tasks WHERE task_id {clause}", (value,)
        )
        parents = {parent for _, parent, _ in tasks if parent}
        holding = _holding(view, parents) if parents else set()
        free = {one for one, parent, held_up in tasks if held_up and parent not in holding}
        held = {one for one, parent, held_up in tasks if not held_up and parent in holding}
        # What is held here may be below what is freed here: it is looked at once more.
        level = _set_below(view, free, 0) | held if free else set()
        if held:
            _set_below(view, held, 1)


def _set_below(view: View, ids: set[str], held_up: int) -> set[str]:
    """Set `held_up` of these tasks, and of what is below them as far as it follows without a
    question; return the parts of those that wait themselves, where it does not."""
    clause, value = view.among(sorted(ids))
    follows = "true" if held_up else f"NOT {_WAITS}"
    found = view.rows(
        f"WITH RECURSIVE down (id) AS (SELECT task_id FROM tasks WHERE task_id {clause} UNION "
        "SELECT part.task_id FROM down JOIN tasks AS whole ON whole.task_id = down.id "
        "JOIN tasks AS part ON part.subtask_of = down.id AND part.subtask_of IS NOT NULL "
        f"WHERE part.held_up <> ? AND {follows}) SELECT id FROM down",
        (value, held_up),
    )
    clause, value = view.among(sorted(row[0] for row in found))
    view.run(f"UPDATE tasks SET held_up = ? WHERE task_id {clause}", [(held_up, value)])
    if held_up:
        return set()
    parts = view.rows(
        "SELECT part.task_id FROM tasks AS whole JOIN tasks AS part "
        "ON part.subtask_of = whole.task_id AND part.subtask_of IS NOT NULL "
        f"WHERE whole.task_id {clause} AND {_WAITS}",
        (value,),
    )
    return {row[0] for row in parts}


def _holding(view: View, parents: set[str]) -> set[str]:
    """Return those of the tasks whose parts cannot be begun."""
    clause, value = view.among(sorted(parents))
    rows = view.rows(
        f"SELECT task_id, status, open_blockers, held_up FROM tasks WHERE task_id {clause}",
        (value,),
    )
    held = {row[0] for row in rows if row[3]}
    waiting = {row[0] for row in rows if row[1] == "pending" and row[2]} - held
    return held | (_waiting_outside(view, waiting) if waiting else set())


def _waiting_outside(view: View, ids: set[str]) -> set[str]:
    """Return those of the tasks that wait for an open task which is not below them."""
    clause, value = view.among(sorted(ids))
    pairs = view.rows(
        "SELECT waits.task_id, waits.blocker_id FROM waits "
        "JOIN tasks AS blocker ON blocker.task_id = waits.blocker_id "
        f"WHERE waits.task_id {clause} AND {IS_PENDING.format('blocker')}",
        (value,),
    )
    clause, value = view.among(sorted({blocker for _, blocker in pairs}))
    above = set(
        view.rows(
            "WITH RECURSIVE up (start, id) AS ("
            f"SELECT task_id, subtask_of FROM tasks WHERE task_id {clause} "
            "AND subtask_of IS NOT NULL UNION "
            "SELECT up.start, tasks.subtask_of FROM up JOIN tasks ON tasks.task_id = up.id "
            "WHERE tasks.subtask_of IS NOT NULL) SELECT start, id FROM up",
            (value,),
        )
    )
    return {task_id for task_id, blocker in pairs if (blocker, task_id) not in above}


def _waiting_for_parts(view: View, wholes: set[str], moved: set[str]) -> set[str]:
    """Return those of the tasks, and of what they are part of, that wait for something that is, or
    is part of, what was moved: it may have come into their trees, or have left them."""
    clause, value = view.among(sorted(view.parents(wholes)))
    pairs = view.rows(f"SELECT task_id, blocker_id FROM waits WHERE task_id {clause}", (value,))
    above = view.parents({blocker for _, blocker in pairs}) if pairs else {}

    def is_moved(task_id: str) -> bool:
        seen = set()
        here: str | None = task_id
        while here and here not in seen:
            if here in moved:
                return True
            seen.add(here)
            here = above.get(here)
        return False

    return {task_id for task_id, blocker in pairs if is_moved(blocker)}
