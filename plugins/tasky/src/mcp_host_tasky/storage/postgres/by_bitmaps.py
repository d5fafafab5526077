"""How PostgreSQL is searched where bitmaps tell which tasks have the words.

How many these are is known before anything else is looked up. Few are sorted. Of many, some tell
how far a walk in order goes to a page of those that fulfil the other conditions too; where it would
go too far, they are sorted all the same.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from ...model import Found, Summary, Wanted
from ..sql import (
    BitmapView,
    Having,
    Where,
    common_conditions,
    drawn,
    having,
)
from ..store import COUNTED
from . import frequency, limits
from .conditions import HAS_WORDS, IN_ROW, Conditions, Counting, by_key, by_place
from .few import Few
from .lexemes import is_longer
from .text_query import TextQuery
from .walk import CREATED_AFTER, NUMBER, Walk, first_unblocking, walk_by_dates, walk_of

FREQUENT = 5_000
"""Words that about so many tasks have get bitmaps: what the index of words lists is read from the
table, 3 to 5 microseconds each."""
RARE = 60_000
"""Up to so many that have the words that no bitmap is of are looked up in the others' bitmaps."""
NEW = 30_000
"""So many new tasks stand side by side, mostly, and what is older is not looked at."""
SORTED = 3_000
"""Up to so many are looked up by number, counted and sorted."""
LOOKED_UP = 1_000
"""So many of more are looked up to count those that match."""
ASKED = 100
"""So many tell which part of all fulfils the conditions."""
STEPS = 5
"""So many entries of an index are followed in the time in which a task is looked up by number."""
FOLLOWED = 20_000
"""So many at least are followed: what some tell is no more than likely."""
FURTHER = 4
"""Else a walk goes so many times as far as it should have to."""


class View(frequency.View, Counting, BitmapView, Protocol):
    """What this room needs of a view of the store."""

    def summaries(self, numbers: Collection[int], wanted: Wanted) -> list[Summary]: ...

    def found(
        self, rows: list[Summary], total: int, wanted: Wanted, *, is_part: bool = False
    ) -> Found: ...


def by_bitmaps(view: View, wanted: Wanted) -> "ByBitmaps | None":
    """Return how a search goes by bitmaps; None where these tell too little."""
    if not wanted.words and not wanted.tags:
        return None
    words = TextQuery(view, wanted)
    told = having(view, [*words.needles(wanted.words), *words.beside])
    if told is None:
        return None
    found, others = told
    if others:
        # Few tasks have what there is no bitmap of, and the index of words finds these. Of other
        # beginnings it would collect all tasks: of these it is asked for the first letters.
        rare = {word for word in wanted.words if words.needles([word])[0] in others}
        query = words.asked(rare, {*filter(is_longer, wanted.words)} - rare)
        sql = f"SELECT number FROM words WHERE {HAS_WORDS} LIMIT {RARE + 1}"
        numbers = [row[0] for row in view.rows(sql, (query,))]
        if len(numbers) > RARE:
            return None
        found = Having.of(found.among(numbers) if found else numbers)
    assert found
    if found.count > SORTED:
        found = found.since(_first_of_new(view, wanted))
    return ByBitmaps(view, wanted, words, found)


def _first_of_new(view: View, wanted: Wanted) -> int:
    """Return a number before which nothing is new enough: 0 where more than some are, or all."""
    after = wanted.created_after
    new = f"FROM tasks WHERE {CREATED_AFTER}"
    if not after or frequency.planned(view, f"SELECT 1 {new}", after) > NEW:
        return 0
    ((first,),) = view.rows(f"SELECT min(number) FROM (SELECT {NUMBER} {new}) AS new", (after,))
    return first or view.last_number() + 1


class ByBitmaps:
    """The tasks that a search finds in one moment of the plan, of those that have its words."""

    def __init__(self, view: View, wanted: Wanted, words: TextQuery, having: Having) -> None:
        self._view = view
        self._wanted = wanted
        self._having = having
        beside = replace(wanted, words=(), tags=(), status=None)
        self._frequency = frequency.Frequency(view, wanted, words)
        self._conditions = Conditions(view, beside, limits.TAG_LISTED)
        self._few = Few(view, beside, self._conditions, has_text=False)
        self._counted: int | None = None

    def page(self, after: str, limit: int, *, count: bool) -> Found:
        """Return the first `limit + 1` matches past a sort key; with `count`, their total."""
        if self._counted is not None and not limit:
            return self._found([], self._counted)
        if self._some is not None:
            first = self._few.first(self._some, after, limit)
            return self._found(first.numbers, first.total)
        numbers = self._first(after, limit) if limit else []
        total, is_part = self._total() if count else (0, False)
        return self._found(numbers, total, is_part=is_part)

    def most_unblocking(self, after: tuple[int, str] | None, limit: int) -> list[int]:
        """Return the numbers of the first matches, what unblocks most first."""
        if self._some is None and self._wanted.ready_for is not None:
            page = self._met_by_unblocks(after, limit)
            if len(page) == limit:
                return page
        every = self._having.numbers() if self._some is None else self._some
        found = self._few.most_unblocking(every, after, limit)
        if found.numbers:
            self._counted = found.total
        return found.numbers

    @cached_property
    def _some(self) -> list[int] | None:
        """Few tasks among which all that match are; None where there are many."""
        if self._having.count <= SORTED:
            return self._having.numbers()
        few = self._few.numbers()
        return None if few is None else self._having.among(few)

    @cached_property
    def _share(self) -> float:
        """About which part of all that have the words fulfils the other conditions."""
        if not self._conditions.rest():
            return 1
        some = self._having.some(ASKED)
        # As if one half more did: there may be some where none of these does.
        return (self._few.count(some) + 0.5) / len(some)

    def _first(self, after: str, limit: int) -> list[int]:
        steps = int(self._steps(limit))
        if steps < STEPS * self._having.count:
            walk = self._walk
            followed = max(FOLLOWED, FURTHER * steps)
            source, values = walk.first(after, followed)
            rows = self._view.rows(
                f"SELECT number FROM ({source}) AS tasks WHERE {walk.rest} "
                "ORDER BY sort_key LIMIT ?",
                (*values, *walk.rest.values, limit + 1),
            )
            if len(rows) > limit or self._ends(walk, after, followed):
                return [row[0] for row in rows]
        return self._few.first(self._having.numbers(), after, limit).numbers

    def _ends(self, walk: Walk, after: str, followed: int) -> bool:
        """Whether a walk has no more than so many entries."""
        source, values = walk.first(after, followed + 1)
        sql = f"SELECT 1 FROM ({source}) AS tasks LIMIT 1 OFFSET {followed}"
        return not self._view.rows(sql, values)

    def _steps(self, limit: int) -> float:
        """Return how many entries of an index a walk probably follows to so many matches."""
        passed = self._frequency.among * self._share_of_all
        return (limit + 1) * passed / (self._share * self._having.count)

    @cached_property
    def _share_of_all(self) -> float:
        """About which part of all tasks stands on the walk."""
        wanted = self._wanted
        status = wanted.status
        share = self._view.counted(status) / self._frequency.among if status else 1.0
        ranged = wanted.only(
            priority=wanted.priority,
            due_until=wanted.due_until,
            ready_for=wanted.ready_for,
            waiting=wanted.waiting,
        )
        if ranged != wanted.only():
            some = drawn(self._view.last_number(), ASKED)
            conditions = Conditions(self._view, ranged, limits.TAG_LISTED)
            few = Few(self._view, ranged, conditions, has_text=False)
            share *= (few.count(some) + 0.5) / len(some)
        return share

    @cached_property
    def _walk(self) -> Walk:
        wanted = self._wanted
        own = replace(wanted, words=(), tags=())
        rest = Where()
        rest.need(*self._is_one())
        if self._frequency.are_dates_soon_met:
            return walk_by_dates(own, rest)
        rest.add(by_key(wanted))
        return walk_of(replace(own, created_after=None, due_until=None), rest)

    def _met_by_unblocks(self, after: tuple[int, str] | None, limit: int) -> list[int]:
        wanted = self._wanted
        met = by_place(wanted)
        met.need(*self._is_one())
        claims = common_conditions(replace(wanted, words=(), tags=(), priority=None))
        met.need(IN_ROW.format(claims), *claims.values)
        followed = max(FOLLOWED, int(FURTHER * self._steps(limit)))
        return [row[0] for row in self._view.rows(*first_unblocking(met, after, followed, limit))]

    def _is_one(self) -> tuple[str, bytes]:
        """Return the condition that a task has the words, and its value."""
        return "get_bit(?::bytea, number::integer) = 1", self._packed

    @cached_property
    def _packed(self) -> bytes:
        return self._having.packed(self._view.last_number())

    def _total(self) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        if not self._conditions.rest():
            return min(self._having.count, COUNTED + 1), False
        return self._few.count(self._having.numbers(LOOKED_UP)), True

    def _found(self, page: list[int], total: int = 0, *, is_part: bool = False) -> Found:
        rows = self._view.summaries(page, self._wanted) if page else []
        return self._view.found(rows, total, self._wanted, is_part=is_part)
