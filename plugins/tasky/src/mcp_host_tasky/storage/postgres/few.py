"""The matches of a search, where one of its conditions leaves few tasks."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

from ...model import Wanted
from ..sql import Where, common_conditions, past_unblocking, told_by_row
from ..store import COUNTED
from . import limits
from .conditions import Conditions
from .listing import First, array
from .walk import CREATED_AFTER, NEW, NUMBER, walk_by_dates


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]: ...

    def count(self, matches: str, values: Sequence[Any], most: int = COUNTED) -> int: ...


class Few:
    """The tasks that one of the conditions besides words leaves, when they are few. With a text
    search, its own ways find what has the tags."""

    def __init__(
        self, view: View, wanted: Wanted, conditions: Conditions, *, has_text: bool
    ) -> None:
        self._view = view
        self._wanted = wanted
        self._conditions = conditions
        self._has_text = has_text

    def numbers(self) -> list[int] | None:
        """Return their numbers; None where they are many."""
        wanted = self._wanted
        if wanted.claimed_by is not None or wanted.held_by is not None or wanted.held:
            held = "SELECT number FROM tasks WHERE claimed_until > ?"
            found = self._view.rows(f"{held} LIMIT {limits.SOME + 1}", (wanted.now,))
            if len(found) <= limits.SOME:
                return [row[0] for row in found]
        for sql, values in self._probes():
            # To count them, an index is enough: no task is read where they are many.
            if self._view.count(sql, values, limits.FEW) <= limits.FEW:
                return [row[0] for row in self._view.rows(f"{sql} LIMIT {limits.FEW}", values)]
        return None

    def _probes(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Return the SELECTs of numbers that may be few, with their values."""
        wanted = self._wanted
        if wanted.created_after:
            yield f"SELECT number FROM tasks WHERE {CREATED_AFTER}", (wanted.created_after,)
        if wanted.due_until:
            due = walk_by_dates(wanted.only(due_until=wanted.due_until), Where())
            first, values = due.first("", limits.FEW + 1)
            yield f"SELECT number FROM ({first}) AS due", values
        if not self._has_text:
            for tag in wanted.tags:
                yield "SELECT number FROM tagged WHERE tag = ?", (tag,)

    def first(self, numbers: Collection[int], after: str, limit: int) -> First:
        """Return the first `limit + 1` of those among them that match, past a sort key."""
        past = Where()
        past.need("sort_key > ?", after)
        return self._first(numbers, "sort_key, number", past, "sort_key", limit + 1)

    def count(self, numbers: Collection[int]) -> int:
        """Return how many of those match, at most one more than are counted."""
        rest = self._conditions.rest()
        near, value = self._looked_up(numbers, "sort_key, number, status")
        matches = f"WITH near AS MATERIALIZED ({near}) SELECT 1 FROM near AS tasks WHERE {rest}"
        return self._view.count(matches, (value, *rest.values))

    def first_new(self, after: str, limit: int) -> First:
        """Return the first of all that are new enough, where these are many, but nothing is wanted
        that is not in their index. They are counted no further than is told."""
        rest = self._conditions.rest()
        source = f"FROM ({NEW}) AS tasks WHERE {rest}"
        values = (self._wanted.created_after, *rest.values)
        page = self._view.rows(
            f"SELECT {NUMBER} FROM (SELECT sort_key {source} AND sort_key > ? "
            "ORDER BY sort_key LIMIT ?) AS first ORDER BY sort_key",
            (*values, after, limit + 1),
        )
        return First([row[0] for row in page], self._view.count(f"SELECT 1 {source}", values))

    def most_unblocking(
        self, numbers: Collection[int], after: tuple[int, str] | None, limit: int
    ) -> First:
        """Return the first of those that match, what unblocks most first."""
        past = past_unblocking(after)
        columns, order = "unblocks, sort_key, number", "unblocks DESC, sort_key"
        return self._first(numbers, columns, past, order, limit)

    def _first(
        self, numbers: Collection[int], columns: str, past: Where, order: str, limit: int
    ) -> First:
        rest = self._conditions.rest()
        near, value = self._looked_up(numbers, f"{columns}, status")
        page = self._view.rows(
            f"WITH near AS MATERIALIZED ({near}), few AS MATERIALIZED "
            f"(SELECT {columns} FROM near AS tasks WHERE {rest}) "
            f"SELECT number, (SELECT count(*) FROM few) FROM few WHERE {past} "
            f"ORDER BY {order} LIMIT ?",
            (value, *rest.values, *past.values, limit),
        )
        return First([row[0] for row in page], page[0][1] if page else 0)

    def _looked_up(self, numbers: Collection[int], columns: str) -> tuple[str, Any]:
        """Return the SELECT of tasks by their numbers, with what the conditions look at, and its
        value. To be found before anything else is asked of them: the database would ask the
        indexes of other conditions as well, or walk all tasks in list order."""
        if common_conditions(told_by_row(self._wanted)):
            columns += ", open_blockers, held_up, claimant, claimed_until, holder"
        return f"SELECT {columns} FROM tasks WHERE number = ANY (?::bigint[])", array(numbers)
