"""How PostgreSQL is searched: which way a search goes is a matter of how many tasks have what is
wanted.

Few are gathered and sorted. Of many, tasks are walked in list order along an index, and whether
one has the words is looked up by its number, until the page is full.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from ...model import Found, Status, Summary, Wanted
from ..sql import SUMMARY, Where, common_conditions, summary_of, told_by_row
from ..store import COUNTED
from . import frequency, limits
from .conditions import HAS_TAG, IN_ROW, LISTED_TAG, Conditions, Counting, by_key, by_place, dates
from .dated import first_of_dated, is_of_dates
from .listing import First, Listing, array
from .text_query import TextQuery
from .walk import NUMBER, WALK, WALK_UNBLOCKING, Walk

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
        self._listing = Listing(view, wanted, self._words.text)

    def page(self, after: str, limit: int, *, count: bool) -> Found:
        """Return the first `limit + 1` matches past a sort key; with `count`, their total."""
        if not self._words.is_needed:
            return self._without_words(after, limit, count=count)
        if not limit and self._listing.total is not None:
            return self._found([], self._listing.total)
        if self._is_told_by_words:
            expected = self._frequency.share * self._view.counted(None)
            if expected > limits.SURE and self._frequency.is_proven_common():
                return self._found(self._walked(after, limit), COUNTED + 1)
            if self._words.beginnings and not self._most_listed(_PAGE):
                return self._examined(after, limit)
            # Where they are more than are listed, they are more than are counted.
            listed = self._listing.first(after, limit + 1, max(limits.LONGEST, COUNTED))
            return self._first(listed) or self._found(self._walked(after, limit), COUNTED + 1)
        if found := self._first(self._listed(after, limit)):
            return found
        return self._examined(after, limit) if count else self._found(self._walked(after, limit))

    def most_unblocking(self, after: tuple[int, str] | None, limit: int) -> list[int] | Where:
        """Return the numbers of the first matches, what unblocks most first; or the conditions,
        where they are to be looked for among all tasks."""
        if self._words.is_needed:
            return self._unblocking_with_words(after, limit)
        numbers = self._few()
        is_ready = self._wanted.ready_for is not None  # as all are that the index has
        if is_ready and (numbers is None or len(numbers) > limits.FEW):
            # The rarer the tag, the further a walk goes: the last one to its end.
            for followed in (limits.FOLLOWED, None) if self._wanted.tags else (limits.FOLLOWED,):
                page = self._walked_by_unblocks(after, limit, followed)
                if len(page) == limit or followed is None:
                    return page
        where = self._conditions.rest()
        if numbers is None:
            return where
        if after:
            where.need("(unblocks < ? OR (unblocks = ? AND sort_key > ?))", after[0], *after)
        near, value = self._looked_up(numbers, "unblocks, sort_key, number, status")
        rows = self._view.rows(
            f"WITH near AS MATERIALIZED ({near}) SELECT number FROM near AS tasks WHERE {where} "
            "ORDER BY unblocks DESC, sort_key LIMIT ?",
            (value, *where.values, limit),
        )
        return [row[0] for row in rows]

    # Words

    @property
    def _is_told_by_words(self) -> bool:
        """Whether nothing is wanted but what the index of words has."""
        wanted = self._wanted
        told = wanted.only(words=wanted.words, tags=wanted.tags, status=wanted.status)
        return wanted == told

    def _listed(self, after: str, limit: int) -> First | None:
        """Return the first of a list of all that have the words, or of few that another condition
        leaves; None where they are met sooner on a walk."""
        most = self._most_listed(_PAGE)
        if most == limits.LONGEST and (found := self._listing.first(after, limit + 1, most)):
            return found
        if (few := self._few()) is not None:
            return self._listing.first_of(few, after, limit + 1)
        return self._listing.first(after, limit + 1, most) if most > limits.LONGEST else None

    def _most_listed(self, page: int) -> int:
        """Return up to how many that have the words are listed to make a page of so many matches;
        none where these are met sooner on a walk that looks up texts. What each takes is reckoned
        in entries of the list."""
        all_tasks = max(1, self._view.counted(None))
        expected = max(1.0, self._frequency.share * all_tasks)
        if expected <= limits.SORTED and not self._words.beginnings:
            return limits.LONGEST
        if expected > limits.LISTED:
            return 0
        having = max(1, min([all_tasks, *self._frequency.dated.values()]))
        texts = page * (having if self._words.has_months else all_tasks) / expected
        walk = texts * (limits.TEXT_TAKES + limits.STEP_TAKES * all_tasks / having)
        takes = limits.LIST_TAKES + limits.BEGINNING_TAKES * self._words.beginnings + expected
        return limits.LISTED if takes <= walk else 0

    def _unblocking_with_words(self, after: tuple[int, str] | None, limit: int) -> list[int]:
        listing = self._listing
        if most := self._most_listed(limit):
            page = listing.most_unblocking(after, limit, most)
            if page is not None:
                return page
        if (few := self._few()) is not None:
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
        most = limits.LOOKED_AT if walk.rest else limits.TEXTS
        fits, bound = self._listing.fits("first")
        ((walked, end, looked_at, last, total, page),) = self._view.rows(
            f"WITH walked AS MATERIALIZED ({walk.source} LIMIT {most + 1}), "
            "first AS MATERIALIZED (SELECT sort_key, number FROM walked AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {limits.TEXTS + 1}), "
            f"hits AS MATERIALIZED (SELECT sort_key, number FROM first WHERE {fits}) "
            "SELECT (SELECT count(*) FROM walked), (SELECT max(sort_key) FROM walked), "
            "(SELECT count(*) FROM first), (SELECT max(sort_key) FROM first), "
            "(SELECT count(*) FROM hits), "
            "ARRAY(SELECT number FROM hits ORDER BY sort_key LIMIT ?)",
            (*walk.values, after, *walk.rest.values, *bound, limit + 1),
        )
        is_part = walked > most or looked_at > limits.TEXTS
        if is_part and len(page) <= limit:
            page += self._walked(last if looked_at > limits.TEXTS else end, limit - len(page))
        return self._found(page, total, is_part=is_part)

    def _walked(self, after: str, limit: int) -> list[int]:
        """Return the numbers of the first tasks past a sort key that match, by a walk in order; of
        a list of all that have the words, where the walk meets too few."""
        walk = self._walk_in_order
        fits, bound = self._listing.fits("first")
        rows = self._view.rows(
            "SELECT number FROM (SELECT sort_key, number "
            f"FROM ({walk.source} LIMIT {limits.STEPS}) AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {self._texts(limit)}) AS first "
            f"WHERE {fits} ORDER BY sort_key LIMIT ?",
            (*walk.values, after, *walk.rest.values, *bound, limit + 1),
        )
        if len(rows) > limit:
            return [row[0] for row in rows]
        found = self._listing.first(after, limit + 1, None)
        assert found
        return found.numbers

    def _texts(self, limit: int) -> int:
        """Return how many texts are looked up on a walk: twice those that are expected to meet so
        many matches, within bounds."""
        expected = 2 * (limit + 1) / max(self._frequency.share, 1 / limits.MOST_WALKED)
        return min(limits.MOST_WALKED, max(limits.WALKED, int(expected)))

    @cached_property
    def _walk_in_order(self) -> Walk:
        wanted = self._wanted
        own = replace(wanted, words=(), tags=(), waiting=False)
        if wanted.waiting:
            own = replace(own, status=Status.PENDING)
        where = common_conditions(own)
        leaving = self._frequency.dated
        for date, value in sorted(dates(wanted), key=lambda one: leaving[one[1]]):
            if leaving[value] <= limits.CANDIDATES:
                # Found before they are sorted: else the database could walk all tasks.
                dated = f"SELECT sort_key, status FROM tasks WHERE {date} OFFSET 0"
                where = common_conditions(own.only(status=own.status, priority=own.priority))
                source = f"SELECT sort_key, {NUMBER} FROM ({dated}) AS tasks WHERE {where}"
                values = [value, *where.values]
                break
        else:
            source, values = f"{WALK} WHERE {where}", where.values
        ordered = f"{source} AND sort_key > ? ORDER BY sort_key"
        return Walk(ordered, values, by_key(wanted))

    def _walked_by_unblocks(
        self, after: tuple[int, str] | None, limit: int, followed: int | None
    ) -> list[int]:
        """Return the numbers of the first matches that are met among so many entries of the index
        of what is ready, what unblocks most first."""
        wanted = self._wanted
        met = by_place(wanted)
        if self._words.is_needed:
            fits, bound = self._listing.fits("tasks")
            met.need(fits, *bound)
        else:
            for tag in wanted.tags:
                met.need(LISTED_TAG if self._conditions.can_be_listed(tag) else HAS_TAG, tag)
            claims = common_conditions(replace(wanted, tags=(), priority=None))
            met.need(IN_ROW.format(claims), *claims.values)
        if after:
            met.need("(unblocks < ? OR (unblocks = ? AND sort_key > ?))", after[0], *after)
        order = "ORDER BY unblocks DESC, sort_key LIMIT"
        rows = self._view.rows(
            f"SELECT number FROM ({WALK_UNBLOCKING} {order} ?) AS tasks WHERE {met} {order} ?",
            (followed, *met.values, limit),
        )
        return [row[0] for row in rows]

    # No words

    def _without_words(self, after: str, limit: int, *, count: bool) -> Found:
        if (few := self._few()) is not None:
            found = self._first_of_few(few, after, limit)
            return self._found(found.numbers, found.total)
        where = self._conditions.all()
        total, is_part = self._total(where) if count else (0, False)
        met = self._met(after, limit)
        if met is None:
            leaving = self._frequency.dated
            met = first_of_dated(self._view, self._wanted, leaving, after, limit)
        if met is not None:
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
        if not self._is_walked_past or self._wanted.waiting:
            return None
        followed = self._followed(limit)
        if not followed:
            return None
        source, bound, rest = self._walk_past()
        rows = self._view.rows(
            f"SELECT number FROM ({source} LIMIT {followed}) AS tasks WHERE {rest} "
            "ORDER BY sort_key LIMIT ?",
            (*bound, after, *rest.values, limit + 1),
        )
        return [row[0] for row in rows] if len(rows) > limit else None

    def _followed(self, limit: int) -> int:
        """Return how many entries of the index are followed on it. Where those that a date leaves
        are soon sorted instead, these are not many more than are expected to meet a page; none
        where that would take as long."""
        left = min(self._frequency.dated.values(), default=0)
        if not left or not is_of_dates(self._wanted):
            return limits.FOLLOWED
        if left > limits.DATED:
            return limits.FOLLOWED_BY_KEY
        expected = 2 * (limit + 1) * self._view.counted(None) // max(1, left)
        return min(limits.FOLLOWED, expected) if expected < left * limits.SORTING_TAKES else 0

    @property
    def _is_walked_past(self) -> bool:
        """Whether something is wanted that no index in list order has."""
        wanted = self._wanted
        return bool(wanted.tags or wanted.due_until or wanted.created_after)

    def _walk_past(self) -> tuple[str, list[Any], Where]:
        """Return a walk in list order along an index, past a sort key that is its last value, and
        what is to be looked at of each task on it."""
        apart = replace(self._wanted, tags=(), due_until=None, created_after=None)
        where = common_conditions(apart)
        rest = Conditions(self._view, self._wanted, limits.TAG).later(is_walk=True)
        return f"{WALK} WHERE {where} AND sort_key > ? ORDER BY sort_key", where.values, rest

    def _total(self, where: Where) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        wanted = self._wanted
        if wanted.only_status:
            return self._view.counted(wanted.status), False
        if not self._is_walked_past or wanted.waiting:
            return self._view.count(f"SELECT 1 FROM tasks WHERE {where}", where.values), False
        # The index of the walk gives the first tasks; among these the rest is looked at.
        source, bound, rest = self._walk_past()
        ((looked_at, total),) = self._view.rows(
            f"SELECT count(*), count(*) FILTER (WHERE {rest}) "
            f"FROM ({source} LIMIT {limits.EXAMINED + 1}) AS tasks",
            (*rest.values, *bound, ""),
        )
        return int(total), looked_at > limits.EXAMINED

    # Conditions that few tasks fulfil

    def _few(self) -> list[int] | None:
        """Return the numbers that one of the conditions besides words leaves, when they are few."""
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
        for date, value in dates(self._wanted):
            yield f"SELECT number FROM tasks WHERE {date}", (value,)
        if not self._words.is_needed:
            for tag in self._wanted.tags:
                yield "SELECT number FROM tagged WHERE tag = ?", (tag,)

    def _first_of_few(self, numbers: Collection[int], after: str, limit: int) -> First:
        """Return the first of those among a few tasks that match."""
        rest = self._conditions.rest()
        near, value = self._looked_up(numbers, "sort_key, number, status")
        page = self._view.rows(
            f"WITH near AS MATERIALIZED ({near}), few AS MATERIALIZED "
            f"(SELECT sort_key, number FROM near AS tasks WHERE {rest}) "
            "SELECT number, (SELECT count(*) FROM few) FROM few "
            "WHERE sort_key > ? ORDER BY sort_key LIMIT ?",
            (value, *rest.values, after, limit + 1),
        )
        return First([row[0] for row in page], page[0][1] if page else 0)

    def _looked_up(self, numbers: Collection[int], columns: str) -> tuple[str, Any]:
        """Return the SELECT of tasks by their numbers, with what the conditions look at, and its
        value. To be found before anything else is asked of them: the database would ask the
        indexes of other conditions as well, or walk all tasks in list order."""
        if common_conditions(told_by_row(self._wanted)):
            columns += ", open_blockers, held_up, claimant, claimed_until, holder"
        return f"SELECT {columns} FROM tasks WHERE number = ANY (?::bigint[])", array(numbers)

    def _first(self, first: First | None) -> Found | None:
        return self._found(first.numbers, first.total) if first else None

    def _found(self, page: list[int], total: int = 0, *, is_part: bool = False) -> Found:
        return self._view.found(self._summaries(page), total, self._wanted, is_part=is_part)

    def _summaries(self, numbers: Collection[int]) -> list[Summary]:
        return self._view.summaries(numbers, self._wanted) if numbers else []
