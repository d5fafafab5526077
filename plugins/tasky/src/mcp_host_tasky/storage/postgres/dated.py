"""A page of the tasks that a date leaves."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...model import Wanted
from ..sql import common_conditions
from . import limits
from .conditions import by_key, dates
from .walk import NUMBER


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]: ...


def is_of_dates(wanted: Wanted) -> bool:
    """Whether nothing is wanted but what the index of a date has."""
    return wanted == wanted.only(
        created_after=wanted.created_after,
        due_until=wanted.due_until,
        status=wanted.status,
        priority=wanted.priority,
    )


def first_of_dated(
    view: View, wanted: Wanted, leaving: Mapping[str, int], after: str, limit: int
) -> list[int] | None:
    """Return the numbers of the first matches past a sort key, of all that a date leaves; `leaving`
    says about how many each of the dates does.

    None where no date is wanted, or they are too many, or more is wanted than its index has.
    """
    if not is_of_dates(wanted):
        return None
    few = [(leaving[value], date, value) for date, value in dates(wanted)]
    count, date, value = min(few, default=(limits.DATED + 1, "", ""))
    if count > limits.DATED:
        return None
    is_creation = value == wanted.created_after
    where = common_conditions(wanted)
    created_after = None if is_creation else wanted.created_after
    due_until = wanted.due_until if is_creation else None
    where.add(by_key(wanted.only(created_after=created_after, due_until=due_until)))
    # Found before they are sorted: else the database could walk all tasks.
    dated = f"SELECT sort_key, status FROM tasks WHERE {date} OFFSET 0"
    first = f"SELECT sort_key FROM ({dated}) AS tasks WHERE {where} AND sort_key > ?"
    rows = view.rows(
        f"SELECT {NUMBER} FROM ({first} ORDER BY sort_key LIMIT ?) AS first ORDER BY sort_key",
        (value, *where.values, after, limit + 1),
    )
    return [row[0] for row in rows]
