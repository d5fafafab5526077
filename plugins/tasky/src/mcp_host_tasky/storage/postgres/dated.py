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


def first_of_dated(
    view: View, wanted: Wanted, leaving: Mapping[str, int], after: str, limit: int
) -> list[int] | None:
    """Return the numbers of the first matches past a sort key, of all that a date leaves; `leaving`
    says about how many each of the dates does.

    None where no date is wanted, or they are too many, or more is wanted than its index has.
    """
    by_index = wanted.only(
        created_after=wanted.created_after,
        due_until=wanted.due_until,
        status=wanted.status,
        priority=wanted.priority,
    )
    if wanted != by_index:
        return None
    where = common_conditions(wanted)
    where.add(by_key(wanted))
    for date, value in dates(wanted):
        if leaving[value] > limits.DATED:
            continue
        # Found before they are sorted: else the database could walk all tasks.
        dated = f"SELECT sort_key, status, {NUMBER} FROM tasks WHERE {date} OFFSET 0"
        rows = view.rows(
            f"SELECT number FROM ({dated}) AS tasks WHERE {where} AND sort_key > ? "
            "ORDER BY sort_key LIMIT ?",
            (value, *where.values, after, limit + 1),
        )
        return [row[0] for row in rows]
    return None
