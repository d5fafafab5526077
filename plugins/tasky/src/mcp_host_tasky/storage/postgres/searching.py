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
from ..sql import FEW, LISTED, SOME, SUMMARY, Where, common_conditions, summary_of, told_by_row
from ..store import COUNTED
from . import frequency, limits
from .conditions import EVERY, HAS_WORDS, Conditions, Counting, dates
from .dated import first_of_dated
from .listing import First, Listing, array
from .text_query import TextQuery
from .walk import WALK, WALK_WAITING, Walk

_PAGE = 51
"""The tasks of a usual page and one more, to reckon with."""
_FIRST_HAS_WORDS = HAS_WORDS.format("first")


class View(frequency.View, Counting, Protocol):
    """What this room needs of a view of the store."""

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def with_tags(self, tags: Collection[str]) -> tuple[str, list[Any]] | None: ...

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
        self._query = self._words.text
        self._frequency = frequency.Frequency(view, wanted, self._words)
        self._conditions = Conditions(view, wanted)
        self._listing = Listing(view, wanted, self._query, self._conditions)

    def page(self, after: str, limit: int, *, count: bool) -> Found:
        """Return the first `limit + 1` matches past a sort key; with `count`, their total."""
        if not self._wanted.words:
            return self._without_words(after, limit, count=count)
        if self._are_only_words:
            expected = self._frequency.share() * self._view.counted(None)
            if expected > limits.SURE and self._frequency.is_proven_common():
                return self._found(self._walked(after, limit), COUNTED + 1)
            # Where they are more than are listed, they are more than are counted.
            most = max(limits.SOON_MET, COUNTED)
            found = self._listed(after, limit, count=count, most=most)
            return found or self._found(self._walked(after, limit), COUNTED + 1)
        if (few := self._few()) is not None:
            return self._from_few(few, after, limit)
        is_list_short = self._listing.is_made or self._is_list_short()
        if is_list_short and (found := self._listed(after, limit, count=count)):
            return found
        return self._examined(after, limit) if count else self._found(self._walked(after, limit))

    def most_unblocking(self, after: tuple[int, str] | None, limit: int) -> list[int] | Where:
        """Return the numbers of the first matches, what unblocks most first; or the conditions,
        where they are to be looked for among all tasks."""
        numbers = None
        if self._wanted.words:
            numbers = self._listing.numbers() if self._is_list_short() else None
        else:
            numbers = self._few()
        is_ready = self._wanted.ready_for is not None  # as all are that the index has
        if is_ready and (numbers is None or len(numbers) > limits.LOOKED_FOR):
            listed = numbers if self._wanted.words else None
            followed = self._followed(listed, limit)
            page = self._listing.most_unblocking(listed, after, limit, followed)
            if page is None and numbers is None and (self._wanted.words or self._wanted.tags):
                page = self._listing.most_unblocking(listed, after, limit, None)
            if page is not None:
                return page
        if numbers is None:
            where = self._conditions.rest()
            if self._wanted.words:
                where.need(HAS_WORDS.format("tasks"), self._query)
            return where
        where = self._rest_of_list() if self._wanted.words else self._conditions.rest()
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
    def _are_only_words(self) -> bool:
        """Whether nothing is wanted but what the index of words has."""
        wanted = self._wanted
        return wanted == wanted.only(words=wanted.words, status=wanted.status)

    def _is_list_short(self) -> bool:
        """Whether a list of all that have the words is made sooner than a page of matches is met
        on a walk that looks up texts. What each takes is reckoned in entries of the list."""
        all_tasks = max(1, self._view.counted(None))
        expected = max(1.0, self._frequency.share() * all_tasks)
        if expected > (limits.LISTED if self._listing.is_narrowed else limits.SORTED):
            return False
        having = self._having(all_tasks)
        texts = _PAGE * all_tasks / expected
        walk = texts * (limits.TEXT_TAKES + limits.STEP_TAKES * all_tasks / having)
        if having <= limits.CANDIDATES:
            walk = min(walk, texts * limits.TEXT_TAKES + having * limits.LOOK_UP_TAKES)
        return limits.LIST_TAKES + expected <= walk

    def _having(self, all_tasks: int) -> int:
        """Return about how many tasks have the rarest of the tags and dates, as far as the planner
        knows; all where none are wanted."""
        tagged = "SELECT 1 FROM tagged WHERE tag = ?"
        counts = [frequency.planned(self._view, tagged, tag) for tag in self._wanted.tags]
        return max(1, min([all_tasks, *counts, *self._frequency.dated.values()]))

    def _listed(
        self, after: str, limit: int, *, count: bool, most: int | None = None
    ) -> Found | None:
        """Return the page, and the total, among a list of all that have the words; None where they
        are too many."""
        listed = self._first_listed(after, limit, count=count, most=most)
        return self._found(listed.numbers, listed.total, is_part=listed.is_part) if listed else None

    def _first_listed(
        self, after: str, limit: int, *, count: bool, most: int | None = None
    ) -> First | None:
        numbers = self._listing.numbers(most)
        if numbers is None:
            return None
        is_all = self._are_only_words
        if len(numbers) > limits.LOOKED_FOR:
            followed = self._followed(numbers, limit)
            met = self._listing.in_order(
                numbers, after, limit, followed, count=count and not is_all
            )
            if met:
                total = len(numbers) if is_all else len(met)
                return First(met[: limit + 1], total, is_part=not is_all)
        return self._first_of_few(numbers, after, limit, has_words=True)

    def _rest_of_list(self) -> Where:
        """Return the conditions that are not looked at when a list is made."""
        return Conditions(self._view, replace(self._wanted, tags=())).rest()

    def _followed(self, numbers: Collection[int] | None, limit: int) -> int:
        """Return how many entries of an index are followed to meet a page of those listed: none
        where it is expected sooner from looking up all, for no longer than that takes."""
        if numbers is None:
            return limits.FOLLOWED
        expected = (limit + 1) * self._view.counted(self._wanted.status) / len(numbers)
        affordable = len(numbers) * limits.STEPS_OF_LOOK_UP
        if expected / self._share_of_new() > affordable:
            return 0
        return min(limits.FOLLOWED, affordable, max(limits.FOLLOWED // 2, int(expected * 1.5)))

    def _share_of_new(self) -> float:
        """Return about which part of the tasks is as new as is wanted, where that says how many are
        met on a walk: those that are open are mostly new."""
        wanted = self._wanted
        is_open = wanted.status or wanted.waiting or wanted.ready_for is not None
        if not wanted.created_after or is_open:
            return 1.0
        return max(1, self._frequency.dated[wanted.created_after]) / max(
            1, self._view.counted(None)
        )

    def _examined(self, after: str, limit: int) -> Found:
        """Return the page, and the total among the first tasks in list order."""
        walk = self._walk_in_order
        ((walked, end, looked_at, last, total, page),) = self._view.rows(
            f"WITH walked AS MATERIALIZED ({walk.source} LIMIT {walk.most + 1}), "
            "first AS MATERIALIZED (SELECT sort_key, number FROM walked AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {limits.TEXTS + 1}), "
            f"hits AS MATERIALIZED (SELECT sort_key, number FROM first WHERE {_FIRST_HAS_WORDS}) "
            "SELECT (SELECT count(*) FROM walked), (SELECT max(sort_key) FROM walked), "
            "(SELECT count(*) FROM first), (SELECT max(sort_key) FROM first), "
            "(SELECT count(*) FROM hits), "
            "ARRAY(SELECT number FROM hits ORDER BY sort_key LIMIT ?)",
            (*walk.values, after, *walk.rest.values, self._query, limit + 1),
        )
        is_part = walked > walk.most or looked_at > limits.TEXTS
        if is_part and len(page) <= limit:
            page += self._walked(last if looked_at > limits.TEXTS else end, limit - len(page))
        return self._found(page, total, is_part=is_part)

    def _walked(self, after: str, limit: int) -> list[int]:
        """Return the numbers of the first tasks past a sort key that match, by a walk in order."""
        page = self._walk(after, limit, limits.WALKED)
        if len(page) > limit:
            return page
        found = self._first_listed(after, limit, count=False, most=LISTED)
        return found.numbers if found else self._joined(after, limit)

    def _joined(self, after: str, limit: int) -> list[int]:
        """Return the numbers of matches of words that very many have, though few with the other
        conditions: all that have them are joined with all that fulfil these."""
        walk = self._walk_in_order
        rows = self._view.rows(
            f"{EVERY}, first AS MATERIALIZED "
            f"(SELECT sort_key, number FROM ({walk.source}) AS tasks "
            f"WHERE {walk.rest}) "  # with an order of its own, it would be compared one by one
            "SELECT number FROM first JOIN every USING (number) ORDER BY sort_key LIMIT ?",
            (self._query, *walk.values, after, *walk.rest.values, limit + 1),
        )
        return [row[0] for row in rows]

    def _walk(self, after: str, limit: int, most: int) -> list[int]:
        """Return the numbers of matches among the first so many tasks with the other conditions, if
        these are met within some steps."""
        walk = self._walk_in_order
        rows = self._view.rows(
            "SELECT number FROM (SELECT sort_key, number "
            f"FROM ({walk.source} LIMIT {limits.STEPS}) AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT ?) AS first WHERE {_FIRST_HAS_WORDS} "
            "ORDER BY sort_key LIMIT ?",
            (*walk.values, after, *walk.rest.values, most, self._query, limit + 1),
        )
        return [row[0] for row in rows]

    @cached_property
    def _walk_in_order(self) -> Walk:
        if candidates := self._candidates():
            numbers, bound = candidates
            where, rest = self._conditions.told_apart()
            # Found before they are sorted: else the database could walk all tasks.
            named = f"SELECT sort_key, number FROM tasks WHERE number = ANY (ARRAY({numbers}))"
            near = f"WITH near AS MATERIALIZED ({named} AND {where}) SELECT * FROM near"
            source = f"{near} WHERE sort_key > ? ORDER BY sort_key"
            most = limits.LOOKED_UP if rest else limits.CANDIDATES
            return Walk(source, [*bound, *where.values], rest, most)
        wanted = self._wanted
        own = replace(wanted, tags=(), waiting=False)
        if wanted.waiting:
            own = replace(own, status=Status.PENDING)
        where = common_conditions(own)
        source = f"{WALK_WAITING if wanted.waiting else WALK} WHERE {where} AND sort_key > ?"
        rest = self._conditions.later(is_walk=True)
        if wanted.waiting:
            rest.need("(open_blockers > 0 OR held_up = 1)")
        is_listed = not wanted.waiting and all(map(self._conditions.can_be_listed, wanted.tags))
        most = limits.LOOKED_AT if is_listed else limits.LOOKED_UP
        return Walk(f"{source} ORDER BY sort_key", where.values, rest, most)

    def _candidates(self) -> tuple[str, list[Any]] | None:
        """Return the SELECT of the numbers of tasks that fulfil the rarest condition besides the
        words, where they can be sorted sooner than all tasks can be walked."""
        counts = []
        for sql, values, _ in self._probes():
            count = self._view.count(sql, values, limits.CANDIDATES)
            counts.append((count, sql, list(values)))
        count, sql, bound = min(counts, default=(limits.CANDIDATES + 1, "", []))
        return (sql, bound) if count <= limits.CANDIDATES else None

    # No words

    def _without_words(self, after: str, limit: int, *, count: bool) -> Found:
        if (few := self._few()) is not None:
            return self._from_few(few, after, limit)
        where = self._conditions.all()
        total, is_part = self._total(where) if count else (0, False)
        met = self._met(after, limit)
        if met is None:
            met = first_of_dated(self._view, self._wanted, after, limit)
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
        source, bound, rest = self._walk_past()
        rows = self._view.rows(
            f"SELECT number FROM ({source} LIMIT {limits.FOLLOWED}) AS tasks WHERE {rest} "
            "ORDER BY sort_key LIMIT ?",
            (*bound, after, *rest.values, limit + 1),
        )
        return [row[0] for row in rows] if len(rows) > limit else None

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
        """Return the numbers that one of the conditions leaves, when they are few."""
        wanted = self._wanted
        if wanted.claimed_by is not None or wanted.held_by is not None or wanted.held:
            held = "SELECT number FROM tasks WHERE claimed_until > ?"
            found = self._view.rows(f"{held} LIMIT {SOME + 1}", (wanted.now,))
            if len(found) <= SOME:
                return [row[0] for row in found]
        for sql, values, few in self._probes():
            # To count them, an index is enough: no task is read where they are many.
            if self._view.count(sql, values, few) <= few:
                return [row[0] for row in self._view.rows(f"{sql} LIMIT {few}", values)]
        return None

    def _probes(self) -> Iterator[tuple[str, Sequence[Any], int]]:
        """Return the SELECTs of numbers that may be few, with their values, and how few."""
        wanted = self._wanted
        for date, value in dates(wanted):
            yield f"SELECT number FROM tasks WHERE {date}", (value,), FEW
        for tag in wanted.tags:
            yield "SELECT number FROM tagged WHERE tag = ?", (tag,), FEW
        if together := self._view.with_tags(wanted.tags):
            yield *together, SOME

    def _from_few(self, numbers: Collection[int], after: str, limit: int) -> Found:
        """Return the page, and the total, of those among a few tasks that match."""
        found = self._first_of_few(numbers, after, limit)
        return self._found(found.numbers, found.total)

    def _first_of_few(
        self, numbers: Collection[int], after: str, limit: int, *, has_words: bool = False
    ) -> First:
        """Return the first of those among a few tasks that match; `has_words` says that these are
        a list of those with the words and tags."""
        rest = self._rest_of_list() if has_words else self._conditions.rest()
        if self._wanted.words and not has_words:
            rest.need(HAS_WORDS.format("tasks"), self._query)
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

    def _found(self, page: list[int], total: int = 0, *, is_part: bool = False) -> Found:
        return self._view.found(self._summaries(page), total, self._wanted, is_part=is_part)

    def _summaries(self, numbers: Collection[int]) -> list[Summary]:
        return self._view.summaries(numbers, self._wanted) if numbers else []
