"""How PostgreSQL is searched: which way a search goes is a matter of how many tasks have what is
wanted.

Few are gathered and sorted. Of many, tasks are walked in list order along an index, and whether
one has the words is looked up by its number, until the page is full.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from ...model import Found, Status, Summary, Wanted
from ..sql import SUMMARY, Where, common_conditions, summary_of
from ..store import COUNTED
from . import frequency, limits
from .conditions import IN_ROW, Conditions, Counting, by_key, by_place
from .few import Few
from .listing import First, Listing
from .text_query import TextQuery
from .walk import Walk, first_unblocking, walk_by_dates, walk_of, walk_sorted

_PAGE = 51
"""The tasks of a usual page and one more, to reckon with."""


class View(frequency.View, Counting, Protocol):
    """What this room needs of a view of the store."""

    def summaries(self, numbers: Collection[int], wanted: Wanted) -> list[Summary]: ...

    def found(
        self, rows: list[Summary], total: int, wanted: Wanted, *, is_part: bool = False
    ) -> Found: ...


class Searching:
    """One search over a view."""

    def __init__(self, view: View, wanted: Wanted) -> None:
        self._view = view
        self._wanted = wanted
        self._words = TextQuery(view, wanted)
        self._frequency = frequency.Frequency(view, wanted, self._words)
        self._conditions = Conditions(view, wanted, limits.TAG_LISTED)
        self._on_walk = Conditions(view, wanted, limits.TAG)
        self._few = Few(view, wanted, self._conditions, has_text=self._words.is_needed)

    def page(self, after: str, limit: int, *, count: bool) -> Found:
        """Return the first `limit + 1` matches past a sort key; with `count`, their total."""
        if not self._words.is_needed:
            return self._without_words(after, limit, count=count)
        if not limit and self._listing.total is not None:
            return self._found([], self._listing.total)
        if self._wanted.only_words:
            if self._frequency.is_proven_common():
                return self._found(self._walked(after, limit), COUNTED + 1)
            if self._list_takes <= limits.SOON_TOLD or self._most_listed(_PAGE):
                # Where they are more than are listed, they are more than are counted.
                listed = self._listing.first(after, limit + 1, max(limits.LONGEST, COUNTED))
                return self._first(listed) or self._found(self._walked(after, limit), COUNTED + 1)
        elif found := self._first(self._listed(after, limit)):
            return found
        return self._examined(after, limit) if count else self._found(self._walked(after, limit))

    def most_unblocking(self, after: tuple[int, str] | None, limit: int) -> list[int] | Where:
        """Return the numbers of the first matches, what unblocks most first; or the conditions,
        where they are to be looked for among all tasks."""
        if self._words.is_needed:
            return self._unblocking_with_words(after, limit)
        numbers = self._few.numbers()
        is_ready = self._wanted.ready_for is not None  # as all are that the index has
        if is_ready and (numbers is None or len(numbers) > limits.FEW):
            # The rarer the tag, the further a walk goes: the last one to its end.
            for followed in (limits.FOLLOWED, None) if self._wanted.tags else (limits.FOLLOWED,):
                page = self._walked_by_unblocks(after, limit, followed)
                if len(page) == limit or followed is None:
                    return page
        if numbers is None:
            return self._conditions.rest()
        return self._few.most_unblocking(numbers, after, limit).numbers

    # Words

    @cached_property
    def _listing(self) -> Listing:
        asked = self._frequency.asked
        return Listing(self._view, self._wanted, self._words.read, asked.query, is_all=asked.is_all)

    def _listed(self, after: str, limit: int) -> First | None:
        """Return the first of a list of all that have the words, or of few that another condition
        leaves; None where they are met sooner on a walk."""
        most = self._most_listed(_PAGE)
        if most == limits.LONGEST and (found := self._listing.first(after, limit + 1, most)):
            return found
        if (few := self._few.numbers()) is not None:
            return self._listing.first_of(few, after, limit + 1)
        return self._listing.first(after, limit + 1, most) if most > limits.LONGEST else None

    def _most_listed(self, page: int) -> int:
        """Return up to how many that have the words are listed to make a page of so many matches;
        none where these are met sooner on a walk that looks up texts."""
        all_tasks, words, expected = self._frequency.among, self._words, self._frequency.expected
        if self._list_takes <= limits.QUICK:
            return limits.LONGEST
        if expected > limits.LISTED:
            return 0
        new = self._frequency.new
        met = page * (new if words.has_months else all_tasks) / expected
        met *= self._frequency.status_share  # others are not on the walk
        steps = met * (2 if self._is_by_dates else all_tasks / new)
        texts = met * self._frequency.tagged_share
        tags = limits.TAG_TAKES * len(self._wanted.tags)
        walk = texts * limits.TEXT_TAKES + steps * (limits.STEP_TAKES + tags)
        return limits.LISTED if self._list_takes <= walk else 0

    @cached_property
    def _list_takes(self) -> float:
        """About how long a list of all that have the words takes."""
        return self._frequency.asked.takes + limits.ENTRY_TAKES * self._frequency.expected

    def _unblocking_with_words(self, after: tuple[int, str] | None, limit: int) -> list[int]:
        listing = self._listing
        if most := self._most_listed(limit):
            page = listing.most_unblocking(after, limit, most)
            if page is not None:
                return page
        if (few := self._few.numbers()) is not None:
            return listing.most_unblocking_of(few, after, limit)
        if self._wanted.ready_for is not None:
            page = self._walked_by_unblocks(after, limit, limits.FOLLOWED)
            if len(page) == limit:
                return page
        found = listing.most_unblocking(after, limit, None)
        assert found is not None
        return found

    def _examined(self, after: str, limit: int) -> Found:
        """Return the page, and the total among the first tasks in list order."""
        walk = self._walk_in_order
        # Where all that is walked along fits, no more of it than the texts is wanted.
        most = limits.LOOKED_AT // (1 + 3 * len(self._wanted.tags)) if walk.rest else limits.TEXTS
        texts = limits.TEXTS
        if not limit:  # a total alone need not cost as much as a page
            most, texts = most // limits.FOR_TOTAL, texts // limits.FOR_TOTAL
        fits, bound = self._listing.fits("first")
        source, values = walk.first(after, most + 1)
        ((walked, end, looked_at, last, total, page),) = self._view.rows(
            f"WITH walked AS MATERIALIZED ({source}), "
            "first AS MATERIALIZED (SELECT sort_key, number FROM walked AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {texts + 1}), "
            f"hits AS MATERIALIZED (SELECT sort_key, number FROM first WHERE {fits}) "
            "SELECT (SELECT count(*) FROM walked), (SELECT max(sort_key) FROM walked), "
            "(SELECT count(*) FROM first), (SELECT max(sort_key) FROM first), "
            "(SELECT count(*) FROM hits), "
            "ARRAY(SELECT number FROM hits ORDER BY sort_key LIMIT ?)",
            (*values, *walk.rest.values, *bound, limit + 1),
        )
        is_part = walked > most or looked_at > texts
        if is_part and len(page) <= limit:
            page += self._walked(last if looked_at > texts else end, limit - len(page))
        return self._found(page, total, is_part=is_part)

    def _walked(self, after: str, limit: int) -> list[int]:
        """Return the numbers of the first tasks past a sort key that match, by a walk in order; of
        a list of all that have the words, where the walk meets too few."""
        walk = self._walk_in_order
        fits, bound = self._listing.fits("first")
        steps, texts = self._reach(limit)
        source, values = walk.first(after, steps)
        rows = self._view.rows(
            f"SELECT number FROM (SELECT sort_key, number FROM ({source}) AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {texts}) AS first "
            f"WHERE {fits} ORDER BY sort_key LIMIT ?",
            (*values, *walk.rest.values, *bound, limit + 1),
        )
        if len(rows) > limit:
            return [row[0] for row in rows]
        found = self._listing.first(after, limit + 1, None)
        assert found
        return found.numbers

    def _reach(self, limit: int) -> tuple[int, int]:
        """Return how many tasks a walk goes past, and how many texts are looked up on it: four
        times as many as are expected to meet so many matches, within bounds."""
        expected = 4 * (limit + 1) / max(self._frequency.share, 1 / limits.STEPS)
        having_tags = expected * self._frequency.tagged_share
        texts = min(limits.MOST_WALKED, max(limits.WALKED, int(having_tags)))
        if not self._walk_in_order.rest:
            return texts, texts
        is_past_new = self._wanted.created_after and not self._is_by_dates
        steps = limits.STEPS if is_past_new else max(texts, int(expected))
        return min(limits.STEPS, steps), texts

    @cached_property
    def _walk_in_order(self) -> Walk:
        """The walk of a search by words: what else is looked at before a text are dates and tags,
        as far as they do not lead it."""
        wanted = self._wanted
        own = replace(wanted, words=(), tags=(), waiting=False)
        if wanted.waiting:
            own = replace(own, status=Status.PENDING)
        rest = self._on_walk.of_tags(is_walk=True)
        if self._is_by_dates:
            return walk_by_dates(own, rest)
        rest.add(by_key(wanted))
        is_sorted = wanted.created_after and self._frequency.new <= limits.CANDIDATES
        return walk_sorted(own, rest) if is_sorted else walk_of(own, rest)

    @property
    def _is_by_dates(self) -> bool:
        """Whether a walk goes past those alone that fulfil the dates, or nearly so."""
        return self._frequency.are_dates_soon_met

    def _walked_by_unblocks(
        self, after: tuple[int, str] | None, limit: int, followed: int | None
    ) -> list[int]:
        """Return the numbers of the first matches that are met among so many entries of the index
        of what is ready, what unblocks most first."""
        wanted = self._wanted
        met = by_place(wanted)
        conditions = self._on_walk if self._words.is_needed else self._conditions
        met.add(conditions.of_tags(is_walk=True))
        if self._words.is_needed:
            fits, bound = self._listing.fits("tasks")
            met.need(fits, *bound)
        else:
            claims = common_conditions(replace(wanted, tags=(), priority=None))
            met.need(IN_ROW.format(claims), *claims.values)
        return [row[0] for row in self._view.rows(*first_unblocking(met, after, followed, limit))]

    # No words

    def _without_words(self, after: str, limit: int, *, count: bool) -> Found:
        if (few := self._few.numbers()) is not None:
            found = self._few.first(few, after, limit)
            return self._found(found.numbers, found.total)
        if self._is_by_creation and not self._is_by_dates and self._frequency.new <= limits.DATED:
            found = self._few.first_new(after, limit)
            return self._found(found.numbers, found.total)
        where = self._conditions.all()
        total, is_part = self._total(where) if count else (0, False)
        if (met := self._met(after, limit)) is not None:
            return self._found(met, total, is_part=is_part)
        rows = self._view.rows(
            f"SELECT {SUMMARY} FROM tasks WHERE {where} AND sort_key > ? ORDER BY sort_key LIMIT ?",
            (*where.values, after, limit + 1),
        )
        page = [summary_of(row, self._wanted) for row in rows]
        return self._view.found(page, total, self._wanted, is_part=is_part)

    def _met(self, after: str, limit: int) -> list[int] | None:
        """Return the numbers of the first matches past a sort key that are met on a walk along an
        index; None where these are too few, or all is in the index anyway."""
        wanted = self._wanted
        if not self._is_walked_past or wanted.waiting:
            return None
        walk = self._walk_past
        is_all = not walk.rest  # whatever it meets fits
        followed = limit + 1 if is_all else self._followed(limit)
        first, bound = walk.first(after, followed)
        rows = self._view.rows(
            f"SELECT number FROM ({first}) AS tasks WHERE {walk.rest} ORDER BY sort_key LIMIT ?",
            (*bound, *walk.rest.values, limit + 1),
        )
        return [row[0] for row in rows] if is_all or len(rows) > limit else None

    def _followed(self, limit: int) -> int:
        """Return how many entries of the index are followed on it."""
        if self._is_by_dates:
            expected = 4 * (limit + 1) / max(self._frequency.tagged_share, 1 / limits.FOLLOWED)
            return min(limits.FOLLOWED, int(expected))
        return limits.FOLLOWED_BY_KEY if self._is_by_creation else limits.FOLLOWED

    @property
    def _is_by_creation(self) -> bool:
        """Whether what is new is wanted, and nothing else but what an index has with it."""
        wanted = self._wanted
        return bool(wanted.created_after) and wanted == wanted.only(
            created_after=wanted.created_after,
            due_until=wanted.due_until,
            status=wanted.status,
            priority=wanted.priority,
        )

    @property
    def _is_walked_past(self) -> bool:
        """Whether something is wanted that no index in list order has."""
        wanted = self._wanted
        return bool(wanted.tags or wanted.due_until or wanted.created_after)

    @cached_property
    def _walk_past(self) -> Walk:
        """The walk of a search without words."""
        if self._is_by_dates:
            rest = self._on_walk.of_tags(is_walk=True)
            return walk_by_dates(replace(self._wanted, tags=()), rest)
        apart = replace(self._wanted, tags=(), due_until=None, created_after=None)
        return walk_of(apart, self._on_walk.later(is_walk=True))

    def _total(self, where: Where) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        wanted = self._wanted
        if wanted.only_status:
            return self._view.counted(wanted.status), False
        if not self._is_walked_past or wanted.waiting:
            return self._view.count(f"SELECT 1 FROM tasks WHERE {where}", where.values), False
        # The index of the walk gives the first tasks; among these the rest is looked at.
        walk = self._walk_past
        first, bound = walk.first("", limits.EXAMINED + 1)
        ((looked_at, total),) = self._view.rows(
            f"SELECT count(*), count(*) FILTER (WHERE {walk.rest}) FROM ({first}) AS tasks",
            (*walk.rest.values, *bound),
        )
        return int(total), looked_at > limits.EXAMINED

    # What is found

    def _first(self, first: First | None) -> Found | None:
        return self._found(first.numbers, first.total) if first else None

    def _found(self, page: list[int], total: int = 0, *, is_part: bool = False) -> Found:
        return self._view.found(self._summaries(page), total, self._wanted, is_part=is_part)

    def _summaries(self, numbers: Collection[int]) -> list[Summary]:
        return self._view.summaries(numbers, self._wanted) if numbers else []
