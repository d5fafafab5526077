"""What has the words and tags of a search, as the index of words lists it.

A row of words has what else is asked of a task: its place in the order, whether it can be begun,
and how many wait for it. So one statement makes a page of a list, and knows how many are in all.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from ...model import Wanted
from ..sql import Where, past_unblocking
from .conditions import HAS_WORDS, beside_words

_ROW = "SELECT number, unblocks, CASE WHEN {} THEN sort_key END AS place FROM words"
_IN_ORDER = "place"
_UNBLOCKING = "unblocks DESC, place"


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]: ...


def array(numbers: Collection[int]) -> str:
    """Return numbers as the database writes an array: the driver takes ten times as long."""
    return f"{{{','.join(map(str, numbers))}}}"


class First(NamedTuple):
    """The numbers of the first matches past a place, and how many match in all."""

    numbers: list[int]
    total: int


class Listing:
    """The tasks with the words and tags of a search, and pages of those among them that fulfil its
    other conditions."""

    def __init__(self, view: View, wanted: Wanted, read: str, asked: str, *, is_all: bool) -> None:
        """`read` is the text search for texts that are read, `asked` that for the index; `is_all`
        says that the index is asked for all of it, else the texts that it finds are read."""
        self._view = view
        self._read = read
        self._asked = asked
        self._is_all = is_all
        self._beside = beside_words(wanted)
        self.total: int | None = None
        """How many match in all, where they were listed already for what else was asked."""
        self._surpassed = 0
        """A list of up to so many was made in vain."""

    def fits(self, table: str) -> tuple[str, list[Any]]:
        """Return the condition that a task of a table matches, which is looked up by its number."""
        row = f"SELECT {HAS_WORDS} AND {self._beside} FROM words WHERE number = {table}.number"
        return f"({row})", [self._read, *self._beside.values]

    def first(self, after: str, limit: int, most: int | None) -> First | None:
        """Return the first matches past a sort key; None where more than so many have the words
        and tags."""
        return self._first(self._listed(), most, _past(after), _IN_ORDER, limit)

    def first_of(self, numbers: Collection[int], after: str, limit: int) -> First:
        """Return the first matches past a sort key among some tasks."""
        found = self._first(self._some(numbers), None, _past(after), _IN_ORDER, limit)
        assert found
        return found

    def most_unblocking(
        self, after: tuple[int, str] | None, limit: int, most: int | None
    ) -> list[int] | None:
        """Return the numbers of the first matches, what unblocks most first; None as `first`."""
        found = self._first(self._listed(), most, _past_unblocks(after), _UNBLOCKING, limit)
        return found.numbers if found else None

    def most_unblocking_of(
        self, numbers: Collection[int], after: tuple[int, str] | None, limit: int
    ) -> list[int]:
        """Return them among some tasks."""
        past = _past_unblocks(after)
        found = self._first(self._some(numbers), None, past, _UNBLOCKING, limit)
        assert found
        return found.numbers

    def _listed(self) -> tuple[str, list[Any]]:
        if self._is_all:
            sql = f"{_ROW.format(self._beside)} WHERE {HAS_WORDS}"
            return sql, [*self._beside.values, self._asked]
        sql = f"{_ROW.format(f'{self._beside} AND {HAS_WORDS}')} WHERE {HAS_WORDS}"
        return sql, [*self._beside.values, self._read, self._asked]

    def _some(self, numbers: Collection[int]) -> tuple[str, list[Any]]:
        row = _ROW.format(f"{HAS_WORDS} AND {self._beside}")
        values = [self._read, *self._beside.values, array(numbers)]
        return f"{row} WHERE number = ANY (?::bigint[])", values

    def _first(
        self,
        every: tuple[str, Sequence[Any]],
        most: int | None,
        past: Where,
        order: str,
        limit: int,
    ) -> First | None:
        if most is not None and most <= self._surpassed:
            return None
        source, values = every
        bound = "" if most is None else f"LIMIT {most + 1}"
        fit = "TRUE" if most is None else f"looked_at <= {most}"
        # All are found before anything else is asked of them: the planner takes words for
        # independent, of two that never meet it expects many, and would read all texts to meet the
        # first. They are read up to the bound.
        ((total, numbers),) = self._view.rows(
            f"WITH every AS MATERIALIZED ({source}), bounded AS "
            f"(SELECT count(*) AS looked_at FROM (SELECT 1 FROM every {bound}) AS first) "
            f"SELECT CASE WHEN {fit} THEN (SELECT count(place) FROM every) END, "
            f"CASE WHEN {fit} THEN ARRAY("
            f"SELECT number FROM every WHERE {past} ORDER BY {order} LIMIT ?) END FROM bounded",
            (*values, *past.values, limit),
        )
        if total is None:
            self._surpassed = most or 0
            return None
        self.total = int(total)
        return First(numbers, self.total)


def _past(after: str) -> Where:
    past = Where()
    past.need("place > ?", after)
    return past


def _past_unblocks(after: tuple[int, str] | None) -> Where:
    past = Where()
    past.need("place IS NOT NULL")
    past.add(past_unblocking(after, "place"))
    return past
