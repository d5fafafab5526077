"""How a search of the SQLite store goes where bitmaps tell which tasks have its words.

How many these are is known before anything else is looked up. Few are sorted. Of many, some tell
how far a walk in order goes to a page of those that fulfil the other conditions too; where it would
go too far, they are sorted all the same.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from ...model import Wanted
from ..sql import (
    BitmapView,
    Having,
    Where,
    common_conditions,
    having,
    status_word,
    statuses_of,
    whole,
)
from ..store import COUNTED
from . import asking
from .asking import first_of_new, is_void, rarely
from .places import count_of, size_of, sorted_of
from .source import NONE, Source, listing, matching
from .texts import needles
from .walks import Order, Walks, claimed, new

FREQUENT = 10_000
"""Words that about so many tasks have get bitmaps: of fewer, the index of words is quick."""
RARE = 60_000
"""Up to so many that have the words that no bitmap is of are looked up in the others' bitmaps."""
SORTED = 8_000
"""Up to so many are looked up by number, counted and sorted."""
LOOKED_UP = 4_000
"""So many of more are looked up to count those that match."""
NEW = 30_000
"""So many new tasks stand side by side, mostly, and what is older is not looked at."""
FEW = 10_000
"""Up to so many that another condition leaves are looked up in the bitmaps."""
ASKED = 200
"""So many tell which part of all fulfils the conditions."""
STEPS = 6
"""So many entries of an index are followed in the time in which a place is looked up."""
FURTHER = 4
"""A walk goes so many times as far as it should have to."""


class View(asking.View, BitmapView, Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def walk(
        self, sql: str, values: Sequence[Any], size: int
    ) -> Generator[list[tuple[Any, ...]]]: ...


def by_bitmaps(view: View, wanted: Wanted) -> "ByBitmaps | None":
    """Return how a search goes by bitmaps; None where these tell too little."""
    if not wanted.words and not wanted.tags:
        return None
    if is_void(wanted):
        return ByBitmaps(view, wanted, Having(0))
    told = having(view, [*needles(wanted), *map(whole, map(status_word, statuses_of(wanted)))])
    if told is None:
        return None
    found, others = told
    since = first_of_new(view, wanted, NEW)
    if others:
        # Few tasks have what there is no bitmap of, and the index of words finds them.
        rare = matching(rarely(view, others), since)
        numbers = [row[0] for row in view.rows(f"{rare.sql} LIMIT {RARE + 1}", rare.values)]
        if len(numbers) > RARE:
            return None
        found = Having.of(found.among(numbers) if found else numbers)
    assert found
    return ByBitmaps(view, wanted, found.since(since))


class ByBitmaps:
    """The tasks that a search finds in one moment of the plan, of those that have its words.

    Invariants: all that match are in `_few`, where that is not None.
    """

    def __init__(self, view: View, wanted: Wanted, having: Having) -> None:
        self._view = view
        self._wanted = wanted
        self._having = having
        self._walks = Walks(wanted)
        self._where = common_conditions(
            replace(wanted, words=(), tags=(), status=None, priority=None)
        )
        self._where.add(self._walks.in_key(wanted))
        self._counted: int | None = None
        self._few = self._chosen()

    def first(self, order: Order, limit: int) -> list[int]:
        """Return the numbers of so many tasks, in an order past a place."""
        if self._few:
            return self._sorted(self._few, order, limit)
        if self._steps(limit) < STEPS * self._having.count:
            page = self._met(order, limit)
            if page is not None:
                return page
        return self._sorted(listing(self._having.numbers()), order, limit)

    def total(self) -> tuple[int, bool]:
        """Return how many match, at most one more than are counted, and whether that is of those
        that were looked at alone."""
        if not self._where:
            return min(self._having.count, COUNTED + 1), False
        if self._counted is None and self._few:
            self._counted = self._count(self._few)
        if self._counted is not None:
            return self._counted, False
        return self._count(listing(self._having.numbers(LOOKED_UP))), True

    def _chosen(self) -> Source | None:
        """Return few tasks among which all that match are, and have them looked up in the bitmaps
        where these are others; None where there are many."""
        if not self._having.count:
            return NONE
        if self._having.count <= SORTED:
            return listing(self._having.numbers())
        for one in (claimed(self._wanted), new(self._wanted)):
            if one and size_of(self._view, one, FEW) <= FEW:
                self._where.need(*self._is_one("places"))
                return one
        return None

    def _is_one(self, table: str) -> tuple[str, bytes]:
        """Return the condition that a task of a table has the words, and its value."""
        return f"substr(?, {table}.number + 1, 1) = x'31'", self._having.flags

    @cached_property
    def _share(self) -> float:
        """About which part of all that have the words fulfils the other conditions."""
        if not self._where:
            return 1
        some = self._having.some(ASKED)
        # As if one half more did: there may be some where none of these does.
        return (self._count(listing(some)) + 0.5) / len(some)

    def _steps(self, limit: int) -> float:
        """Return how many entries of an index a walk probably follows to so many matches."""
        return limit * self._view.counted(None) / (self._share * self._having.count)

    def _met(self, order: Order, limit: int) -> list[int] | None:
        """Return the numbers of so many matches that are met on a walk in order; None where it has
        gone further than it should have to."""
        size = max(limit, int(limit / self._share))
        found: list[int] = []
        left = FURTHER * size
        for index, where, in_key in self._walks.parts(order):
            where.add(in_key)
            where.need(*self._is_one("tasks"))
            rest = self._walks.beside(index)
            sql = f"SELECT number FROM tasks INDEXED BY {index} WHERE {where} ORDER BY {order.by}"
            with closing(self._view.walk(sql, where.values, size)) as parts:
                for rows in parts:
                    numbers = [row[0] for row in rows]
                    found += self._fulfilling(numbers, rest) if rest else numbers
                    left -= len(numbers)
                    if len(found) >= limit:
                        return found[:limit]
                    if left <= 0:
                        return None
        return found

    def _fulfilling(self, numbers: Sequence[int], rest: Where) -> list[int]:
        """Return those of some tasks that fulfil what their places tell, in their order."""
        clause, value = self._view.among(numbers)
        sql = f"SELECT number FROM places WHERE number {clause} AND {rest}"
        fulfilling = {row[0] for row in self._view.rows(sql, (value, *rest.values))}
        return [number for number in numbers if number in fulfilling]

    def _count(self, source: Source) -> int:
        return count_of(self._view, source, self._where)

    def _sorted(self, source: Source, order: Order, limit: int) -> list[int]:
        """Return the first of a source, and note how many of it match."""
        found, count = sorted_of(self._view, source, self._where, order, limit)
        if count is not None:
            self._counted = count
        return found
