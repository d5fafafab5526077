"""What is wrong with single rows of tasks and events."""

# ruff: noqa: S608  statements are put together from this room's own constants

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol

from .rows import EVENT, EVENT_COLUMNS, TASK, TASK_COLUMNS, task_of, unreadable

_AT_ONCE = 1_000
_SHOWN = 100


class View(Protocol):
    """What this room needs of a view of an SQL store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...


def damaged_rows(view: View) -> list[str]:
    """Say what is wrong with tasks and events, one sentence each, of the first so many. The view
    gives a text that is no UTF-8 with surrogates in place of what cannot be read."""
    tasks = (_wrong_task(row) for row in _every(view, f"{TASK}, sort_key", "tasks", "number", 1))
    events = (_wrong_event(row) for row in _every(view, EVENT, "events", "event_id", 0))
    found = list(islice((one for one in chain(tasks, events) if one), _SHOWN))
    return [*found, "A copy of all that can be read: tasky backup."] if found else []


def told_misplaced(count: int) -> list[str]:
    """Say of so many tasks that what stands of them beside their rows is something else."""
    if not count:
        return []
    return [f"The index of places is wrong for {count} tasks. A copy has it right: tasky backup."]


def _every(view: View, columns: str, table: str, key: str, at: int) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a table by their number, which is so far on in a row."""
    after = -1
    while rows := view.rows(
        f"SELECT {columns} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT {_AT_ONCE}", (after,)
    ):
        yield from rows
        after = rows[-1][at]


def _wrong_task(row: Sequence[Any]) -> str | None:
    """Say what is wrong with a task's row, whose last column is its sort key."""
    told = f"The task {str(row[0]).encode(errors='replace').decode()} (number {row[1]})"
    if broken := unreadable(TASK_COLUMNS, row):
        return f"{told} has what cannot be read: {', '.join(broken)}."
    if task_of(row).sort_key != row[-1]:
        return f"{told} stands in the wrong place of every list."
    return None


def _wrong_event(row: Sequence[Any]) -> str | None:
    if broken := unreadable(EVENT_COLUMNS, row):
        return f"The event {row[0]} has what cannot be read: {', '.join(broken)}."
    return None
