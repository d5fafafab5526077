"""A walk through tasks in list order, along an index."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from dataclasses import replace
from typing import Any, NamedTuple

from ...model import NEVER, Wanted
from ..sql import Where, common_conditions, past_unblocking

# A sort key ends with the number: an index that has the key is all that a walk reads.
NUMBER = "substr(sort_key, 49)::bigint AS number"
DUE = "substr(sort_key, 2, 20)"
CREATED = "substr(sort_key, 22, 27)"
CREATED_AFTER = "created_at > ?"
# Found before they are sorted: else the database could walk all tasks.
NEW = f"SELECT sort_key, status FROM tasks WHERE {CREATED_AFTER} OFFSET 0"
_COLUMNS = f"sort_key, {NUMBER}, status, open_blockers, held_up, claimant, claimed_until, holder"
WALK = f"SELECT sort_key, number FROM (SELECT {_COLUMNS} FROM tasks) AS tasks"
WALK_UNBLOCKING = (
    f"SELECT unblocks, sort_key, number FROM (SELECT unblocks, sort_key, {NUMBER} FROM tasks "
    "WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0) AS tasks"
)


_LEVELS = "01234"
_PAST_ALL = "~"
"""What follows whatever else a key may have at a place."""


class Part(NamedTuple):
    """A SELECT of the keys and numbers of tasks, and its values. An order may follow."""

    select: str
    values: list[Any]


class Walk(NamedTuple):
    """Tasks in list order: those of all parts, and what is to be looked at of each one met."""

    parts: list[Part]
    rest: Where

    def first(self, after: str, most: int) -> tuple[str, list[Any]]:
        """Return the SELECT of the first tasks past a sort key, and its values."""
        # Each part is in order, and ends by itself: so they are merged, and none is read further
        # than is asked. For more the database could find and sort all.
        ordered = f"AND sort_key > ? ORDER BY sort_key LIMIT {most}"
        selects = [f"{part.select} {ordered}" for part in self.parts]
        values = [value for part in self.parts for value in (*part.values, after)]
        if len(selects) == 1:
            return selects[0], values
        merged = " UNION ALL ".join(f"({select})" for select in selects)
        first = f"SELECT sort_key, number FROM ({merged}) AS tasks ORDER BY sort_key LIMIT {most}"
        return first, values


def end_of_due(wanted: Wanted) -> str:
    """Return what follows all due dates that are wanted, as a level of the order has them."""
    return f"{wanted.due_until}{_PAST_ALL}" if wanted.due_until else NEVER


def first_unblocking(
    met: Where, after: tuple[int, str] | None, followed: int | None, limit: int
) -> tuple[str, list[Any]]:
    """Return the SELECT of the first tasks that fulfil conditions, among so many entries of the
    index of what is ready, what unblocks most first; and its values."""
    met.add(past_unblocking(after))
    order = "ORDER BY unblocks DESC, sort_key LIMIT"
    sql = f"SELECT number FROM ({WALK_UNBLOCKING} {order} ?) AS tasks WHERE {met} {order} ?"
    return sql, [followed, *met.values, limit]


def walk_of(wanted: Wanted, rest: Where) -> Walk:
    """Return a walk past all tasks, apart from dates."""
    where = common_conditions(wanted)
    return Walk([Part(f"{WALK} WHERE {where}", where.values)], rest)


def walk_sorted(wanted: Wanted, rest: Where) -> Walk:
    """Return a walk past those that are new enough, which are found and sorted before."""
    where = common_conditions(wanted.only(status=wanted.status, priority=wanted.priority))
    select = f"SELECT sort_key, {NUMBER} FROM ({NEW}) AS tasks WHERE {where}"
    return Walk([Part(select, [wanted.created_after, *where.values])], rest)


def walk_by_dates(wanted: Wanted, rest: Where) -> Walk:
    """Return a walk past those tasks alone that fulfil the dates, by ranges of the order.

    A level of priority has first what is due, by its date, then what is due never, by its creation.
    What was created after a moment is due after it, or never; what was due before it was created
    has an index of its own.
    """
    new, last, due = wanted.created_after, wanted.due_until, end_of_due(wanted)
    beside = common_conditions(replace(wanted, created_after=None, due_until=None))
    parts = []
    for level in str(5 - wanted.priority) if wanted.priority else _LEVELS:
        if new is None:
            parts.append(_range(beside, level, level + due))
            continue
        if new < due:
            parts.append(_range(beside, level + new, level + due, new))
        if not last:
            parts.append(_range(beside, f"{level}{NEVER}{new}{_PAST_ALL}", level + _PAST_ALL))
    if new:
        # Found before anything else is asked of them: the database expects many.
        is_late = f"due_at < created_at AND {DUE} <= ? AND {CREATED} > ?"
        late = f"SELECT {_COLUMNS} FROM tasks WHERE {is_late} ORDER BY sort_key OFFSET 0"
        select = f"SELECT sort_key, number FROM ({late}) AS tasks"
        values = [min(new, last or new), new, *beside.values]
        parts.append(Part(f"{select} WHERE {beside}", values))
    return Walk(parts, rest)


def _range(beside: Where, low: str, high: str, new: str | None = None) -> Part:
    """Return the tasks between two keys, of those that were created after a moment."""
    select = f"{WALK} WHERE {beside} AND sort_key > ? AND sort_key < ?"
    values = [*beside.values, low, high]
    return Part(f"{select} AND {CREATED} > ?", [*values, new]) if new else Part(select, values)
