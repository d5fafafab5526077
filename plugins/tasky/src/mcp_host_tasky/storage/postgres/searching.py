"""How PostgreSQL is searched: which way a search goes is a matter of how many tasks have what is
wanted.

Few are gathered and sorted. Of many, tasks are walked in list order along an index, and whether
one has the words is looked up by its number, until the page is full.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ...model import Found, Status, Summary, Wanted
from ..sql import (
    FEW,
    LISTED,
    SOME,
    SUMMARY,
    Where,
    common_conditions,
    summary_of,
)
from ..store import COUNTED
from .limits import (
    CANDIDATES,
    COMMON,
    EXAMINED,
    LOOKED_AT,
    LOOKED_UP,
    MANY,
    RARE,
    READ,
    SAMPLE,
    SEVERAL,
    SORTED,
    TEXTS,
    WALKED,
    WALKED_PAST,
)
from .text_query import KnownWords, TextQuery
from .walk import WALK, WALK_WAITING, Walk

_HAS_WORDS = "(SELECT words @@ ?::tsquery FROM words WHERE words.number = {}.number)"
_FIRST_HAS_WORDS = _HAS_WORDS.format("first")
# As values: the planner would join the table, and list all that have the tag where few are asked.
_HAS_TAG = "(SELECT true FROM tagged WHERE tag = ? AND tagged.number = tasks.number)"
_LISTED_TAG = "(number IN (SELECT number FROM tagged WHERE tag = ?)) IS TRUE"


class View(KnownWords, Protocol):
    """What this room needs of a view of the store."""

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def with_tags(self, tags: Collection[str]) -> tuple[str, list[Any]] | None: ...

    def summaries(self, numbers: Collection[int], wanted: Wanted) -> list[Summary]: ...

    def counted(self, status: Status | None) -> int: ...

    def count(self, matches: str, values: Sequence[Any]) -> int: ...

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
        self._known_share: float | None = None
        self._listed_tags: dict[str, bool] = {}

    def page(self, after: str, limit: int, *, count: bool) -> Found:
        """Return the first `limit + 1` matches past a sort key; with `count`, their total."""
        wanted = self._wanted
        if not wanted.words:
            return self._without_words(after, limit, count=count)
        if wanted == wanted.only(words=wanted.words, status=wanted.status):
            found = None if self._is_proven_common() else self._gathered(after, limit)
            return found or self._found(self._walked(after, limit), COUNTED + 1)
        if self._share() < self._few_enough() and (found := self._gathered(after, limit)):
            return found
        few = self._few()
        if few is not None:
            return self._from_few(few, after, limit)
        return self._examined(after, limit) if count else self._found(self._walked(after, limit))

    def conditions(self) -> Where:
        """Return the WHERE clause of the whole search, for a table with all columns."""
        wanted = self._wanted
        where = common_conditions(wanted, "number")
        if wanted.due_until:
            where.need("due_at <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("created_at > ?", wanted.created_after)
        if wanted.words:
            where.need(
                "number IN (SELECT number FROM words WHERE words @@ ?::tsquery)", self._query
            )
        return where

    def in_another_order(self) -> tuple[str, Where]:
        """Return where to look for all that match, and the conditions."""
        wanted = self._wanted
        if not wanted.words:
            return "tasks", self.conditions()
        where = self._rest()
        if self._share() < SEVERAL:
            matching = self._matching(SORTED + 1)
            numbers = self._view.rows(matching, (self._query, *wanted.tags))
            if len(numbers) <= SORTED:
                clause, value = self._view.among([row[0] for row in numbers])
                # Found before they are sorted: else the database could walk all tasks.
                few = f"SELECT * FROM tasks WHERE number {clause} AND {where}"
                found = Where()
                found.values += [value, *where.values]
                return f"(WITH few AS MATERIALIZED ({few}) SELECT * FROM few) AS tasks", found
        where.need(_HAS_WORDS.format("tasks"), self._query)
        return "tasks", where

    # Words

    def _is_proven_common(self) -> bool:
        """Whether more tasks than are counted have the words, where that is soon known: by reading
        texts, or by what the planner knows of common words that begin so. To list all that have
        them takes the database longer."""
        sql, query = "SELECT number FROM words WHERE words @@ ?::tsquery", self._query
        if self._share() >= COMMON:
            read = f"(SELECT number, words FROM words ORDER BY number LIMIT {READ})"
            sql = sql.replace("FROM words", f"FROM {read} AS words")
        elif self._share() >= MANY and (some := self._words.of_some()):
            query = some
        else:
            return False
        every = f"WITH every AS MATERIALIZED ({sql}) SELECT number FROM every"
        return self._view.count(every, (query,)) > COUNTED

    def _few_enough(self) -> float:
        """Return up to which part of the texts all that have the words are gathered."""
        wanted = self._wanted
        others = wanted.only(words=wanted.words, status=wanted.status, priority=wanted.priority)
        if wanted.tags:
            return SEVERAL
        by_key = replace(others, due_until=wanted.due_until, created_after=wanted.created_after)
        return MANY if wanted == by_key else RARE

    def _gathered(self, after: str, limit: int, most: int | None = None) -> Found | None:
        """Return the page of all with the words and tags, unless these are more than `most`."""
        most = SORTED if most is None else most
        rest = self._rest()
        wanted = self._wanted
        others = wanted != wanted.only(words=wanted.words, status=wanted.status)
        # An array has the database look each up by its number. All stays there but for the page.
        # Where the words are all that is wanted, many are not sorted but met in list order.
        walk = "false" if others else f"(SELECT count(*) FROM found) > {WALKED_PAST}"
        ((worded, total, page),) = self._view.rows(
            f"WITH found AS MATERIALIZED ({self._matching(most + 1)}), "
            f"first AS MATERIALIZED ({WALK} WHERE {walk} AND sort_key > ? "
            f"ORDER BY sort_key LIMIT {LOOKED_AT}), "
            "met AS MATERIALIZED (SELECT sort_key, number FROM first "
            "WHERE (number IN (SELECT number FROM found)) IS TRUE ORDER BY sort_key LIMIT ?), "
            "few AS MATERIALIZED (SELECT sort_key, number FROM tasks WHERE number = ANY (CASE "
            f"WHEN (SELECT count(*) FROM found) <= {most} THEN ARRAY(SELECT number FROM found) "
            f"END) AND {rest}) SELECT (SELECT count(*) FROM found), "
            f"CASE WHEN {walk} THEN (SELECT count(*) FROM found) "
            "ELSE (SELECT count(*) FROM few) END, "
            "CASE WHEN (SELECT count(*) FROM met) = ? THEN ARRAY(SELECT number FROM met) "
            "ELSE ARRAY(SELECT number FROM few WHERE sort_key > ? ORDER BY sort_key LIMIT ?) END",
            (
                self._query,
                *wanted.tags,
                after,
                limit + 1,
                *rest.values,
                limit + 1,
                after,
                limit + 1,
            ),
        )
        return self._found(page, total) if worded <= most else None

    def _matching(self, limit: int) -> str:
        """Return the SELECT of the numbers of tasks with the words and tags, at most so many.

        The limit stands outside: the planner takes words for independent, of two that never meet
        it expects many, and would read all texts to meet the first.
        """
        tagged = " AND number IN (SELECT number FROM tagged WHERE tag = ?)" * len(self._wanted.tags)
        sql = f"SELECT number FROM words WHERE words @@ ?::tsquery{tagged}"
        return f"WITH every AS MATERIALIZED ({sql}) SELECT number FROM every LIMIT {limit}"

    def _examined(self, after: str, limit: int) -> Found:
        """Return the page, and the total among the first tasks in list order."""
        walk = self._walk_in_order()
        ((walked, end, looked_at, last, total, page),) = self._view.rows(
            f"WITH walked AS MATERIALIZED ({walk.source} LIMIT {walk.most + 1}), "
            "first AS MATERIALIZED (SELECT sort_key, number FROM walked AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT {TEXTS + 1}), "
            f"hits AS MATERIALIZED (SELECT sort_key, number FROM first WHERE {_FIRST_HAS_WORDS}) "
            "SELECT (SELECT count(*) FROM walked), (SELECT max(sort_key) FROM walked), "
            "(SELECT count(*) FROM first), (SELECT max(sort_key) FROM first), "
            "(SELECT count(*) FROM hits), "
            "ARRAY(SELECT number FROM hits ORDER BY sort_key LIMIT ?)",
            (*walk.values, after, *walk.rest.values, self._query, limit + 1),
        )
        is_part = walked > walk.most or looked_at > TEXTS
        if is_part and len(page) <= limit:
            page += self._walked(last if looked_at > TEXTS else end, limit - len(page))
        return self._found(page, max(total, len(page[:limit])), is_part=is_part)

    def _walked(self, after: str, limit: int) -> list[int]:
        """Return the numbers of the first tasks past a sort key that match, by a walk in order."""
        page = self._walk(after, limit, WALKED)
        if len(page) > limit:
            return page
        if found := self._gathered(after, limit, LISTED):
            return [int(row.sort_key[48:]) for row in found.rows]
        return self._walk(after, limit, None)

    def _walk(self, after: str, limit: int, most: int | None) -> list[int]:
        """Return the numbers of matches among the first so many tasks with the other conditions."""
        walk = self._walk_in_order()
        rows = self._view.rows(
            f"SELECT number FROM (SELECT sort_key, number FROM ({walk.source}) AS tasks "
            f"WHERE {walk.rest} ORDER BY sort_key LIMIT ?) AS first WHERE {_FIRST_HAS_WORDS} "
            "ORDER BY sort_key LIMIT ?",
            (*walk.values, after, *walk.rest.values, most, self._query, limit + 1),
        )
        return [row[0] for row in rows]

    def _walk_in_order(self) -> Walk:
        where = self._rest(is_walk=True)
        if candidates := self._candidates():
            numbers, bound = candidates
            # Found before they are sorted: else the database could walk all tasks.
            named = f"SELECT sort_key, number FROM tasks WHERE number = ANY (ARRAY({numbers}))"
            near = f"WITH near AS MATERIALIZED ({named} AND {where}) SELECT * FROM near"
            source = f"{near} WHERE sort_key > ? ORDER BY sort_key"
            return Walk(source, [*bound, *where.values], Where(), CANDIDATES)
        wanted = self._wanted
        own = replace(wanted, tags=(), waiting=False)
        if wanted.waiting:
            own = replace(own, status=Status.PENDING)
        where = common_conditions(own, "number")
        source = f"{WALK_WAITING if wanted.waiting else WALK} WHERE {where} AND sort_key > ?"
        rest = self._later(is_walk=True)
        if wanted.waiting:
            rest.need("(open_blockers > 0 OR held_up = 1)")
        is_listed = not wanted.waiting and all(map(self._can_be_listed, wanted.tags))
        most = LOOKED_AT if is_listed else LOOKED_UP
        return Walk(f"{source} ORDER BY sort_key", where.values, rest, most)

    def _candidates(self) -> tuple[str, list[Any]] | None:
        """Return the SELECT of the numbers of tasks that fulfil the rarest condition besides the
        words, where they can be sorted sooner than all tasks can be walked."""
        counts = []
        for sql, values, _ in self._probes():
            limited = f"{sql} LIMIT {CANDIDATES + 1}"
            ((count,),) = self._view.rows(f"SELECT count(*) FROM ({limited}) AS one", values)
            counts.append((count, sql, list(values)))
        count, sql, bound = min(counts, default=(CANDIDATES + 1, "", []))
        return (sql, bound) if count <= CANDIDATES else None

    def _share(self) -> float:
        """Return the part of the oldest texts that have the words."""
        if self._known_share is None:
            sample = f"SELECT words FROM words ORDER BY number LIMIT {SAMPLE}"
            sql = f"SELECT count(*) FROM ({sample}) AS first WHERE words @@ ?::tsquery"
            self._known_share = self._view.rows(sql, (self._query,))[0][0] / SAMPLE
        return self._known_share

    def _rest(self, *, is_walk: bool = False) -> Where:
        """Return the conditions but for the words."""
        where = common_conditions(replace(self._wanted, tags=()), "number")
        later = self._later(is_walk=is_walk)
        where.need(str(later), *later.values)
        return where

    def _later(self, *, is_walk: bool = False) -> Where:
        """Return the conditions that no index in list order has: by the sort key, and by tags."""
        wanted = self._wanted
        where = Where()
        if wanted.due_until:
            where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
        for tag in wanted.tags:
            where.need(_LISTED_TAG if is_walk and self._can_be_listed(tag) else _HAS_TAG, tag)
        return where

    def _can_be_listed(self, tag: str) -> bool:
        """Whether so few have a tag that a walk lists them once, and looks none up by itself."""
        if tag not in self._listed_tags:
            sql = f"SELECT 1 FROM tagged WHERE tag = ? LIMIT {LISTED + 1}"
            ((count,),) = self._view.rows(f"SELECT count(*) FROM ({sql}) AS one", (tag,))
            self._listed_tags[tag] = count <= LISTED
        return self._listed_tags[tag]

    # No words

    def _without_words(self, after: str, limit: int, *, count: bool) -> Found:
        if (few := self._few()) is not None:
            return self._from_few(few, after, limit)
        where = self.conditions()
        rows = self._view.rows(
            f"SELECT {SUMMARY} FROM tasks WHERE {where} AND sort_key > ? ORDER BY sort_key LIMIT ?",
            (*where.values, after, limit + 1),
        )
        total, is_part = self._total(where) if count else (0, False)
        page = [summary_of(row, self._wanted) for row in rows]
        return self._view.found(page, total, self._wanted, is_part=is_part)

    def _total(self, where: Where) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        wanted = self._wanted
        if wanted.only_status:
            return self._view.counted(wanted.status), False
        if not (wanted.tags or wanted.due_until or wanted.created_after):
            return self._view.count(f"SELECT 1 FROM tasks WHERE {where}", where.values), False
        # The index of the walk gives the first tasks; among these the rest is looked at.
        walked = replace(wanted, tags=(), due_until=None, created_after=None)
        apart = Searching(self._view, walked).conditions()
        walk = (
            f"SELECT number, due_at, created_at FROM tasks WHERE {apart} "
            f"ORDER BY sort_key LIMIT {EXAMINED + 1}"
        )
        ((looked_at,),) = self._view.rows(f"SELECT count(*) FROM ({walk}) AS first", apart.values)
        others = wanted.only(
            tags=wanted.tags, due_until=wanted.due_until, created_after=wanted.created_after
        )
        rest = Searching(self._view, others).conditions()
        sql = f"SELECT count(*) FROM ({walk}) AS tasks WHERE {rest}"
        ((total,),) = self._view.rows(sql, (*apart.values, *rest.values))
        return int(total), looked_at > EXAMINED

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
            found = self._view.rows(f"{sql} LIMIT {few + 1}", values)
            if len(found) <= few:
                return [row[0] for row in found]
        return None

    def _probes(self) -> Iterator[tuple[str, Sequence[Any], int]]:
        """Return the SELECTs of numbers that may be few, with their values, and how few."""
        wanted = self._wanted
        if wanted.created_after:
            created = "SELECT number FROM tasks WHERE created_at > ?"
            yield created, (wanted.created_after,), FEW
        if wanted.due_until:
            yield "SELECT number FROM tasks WHERE due_at <= ?", (wanted.due_until,), FEW
        for tag in wanted.tags:
            yield "SELECT number FROM tagged WHERE tag = ?", (tag,), FEW
        if together := self._view.with_tags(wanted.tags):
            yield *together, SOME

    def _from_few(self, numbers: Collection[int], after: str, limit: int) -> Found:
        """Return the page, and the total, of those among a few tasks that match."""
        rest = self._rest()
        if self._wanted.words:
            rest.need(_HAS_WORDS.format("tasks"), self._query)
        clause, value = self._view.among(numbers)
        # Found before they are sorted: else the database could walk all tasks in list order.
        few = f"SELECT sort_key, number FROM tasks WHERE number {clause} AND {rest}"
        page = self._view.rows(
            f"WITH few AS MATERIALIZED ({few}) SELECT number, (SELECT count(*) FROM few) FROM few "
            "WHERE sort_key > ? ORDER BY sort_key LIMIT ?",
            (value, *rest.values, after, limit + 1),
        )
        total = page[0][1] if page else 0
        return Found(self._summaries([row[0] for row in page]), total)

    def _found(self, page: list[int], total: int = 0, *, is_part: bool = False) -> Found:
        return self._view.found(self._summaries(page), total, self._wanted, is_part=is_part)

    def _summaries(self, numbers: Collection[int]) -> list[Summary]:
        return self._view.summaries(numbers, self._wanted) if numbers else []
