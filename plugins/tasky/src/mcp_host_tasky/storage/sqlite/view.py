"""A reading or writing of the SQLite store, with full text by FTS5."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from ...model import Found, Summary, Task, Wanted
from ..sql import (
    FEW,
    SHORTEST_PREFIX,
    SOME,
    SqlView,
    Where,
    common_conditions,
    is_status,
    reworded,
    status_word,
)
from ..store import COUNTED, EXAMINED
from .sieve import Matches, Sieve

WORDED = 2_000
"""So many tasks with the words are looked at to count those that fulfil other conditions as well:
each is a row to read, and not only an index."""
NEW = 10_000
"""What is new may stand at the end of every list, where a walk comes last: so much is fetched."""
SHORTEST_WALK = 1_000
LONGEST_WALK = 20_000
"""After so many tasks in list order, all that may match are gathered and sorted, up to `GATHERED`
of them."""
GATHERED = 8_000

Sifted: TypeAlias = tuple[list[int] | None, Sieve | None]


class SqliteView(SqlView):
    by_number = "tasks NOT INDEXED"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sifted: dict[Wanted, Sifted] = {}

    def close(self) -> None:
        """Ask FTS5 for no more of what was searched."""
        for _, sieve in self._sifted.values():
            if sieve:
                sieve.close()
        self._sifted.clear()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        self.close()
        self._connection.executemany(sql, many)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        return "json_each(?) AS one", json.dumps(list(values))

    # The index of words has no texts of its own: of a changed one, only what differs is written.
    # FTS5 writes a segment whenever a row's number is not above the one before: rows come sorted.

    def put_words(self, rows: list[tuple[int, str]]) -> None:
        self.run("INSERT INTO texts (number, folded) VALUES (?, ?)", rows)
        self.run("INSERT INTO words (rowid, folded) VALUES (?, ?)", rows)
        self._learn({word for _, text in rows for word in text.split()})

    def replace_words(self, pairs: list[tuple[Task, Task]]) -> None:
        changes = [change for pair in pairs if any((change := reworded(*pair))[1:])]
        texts = self.texts([change.number for change in changes])
        rows: list[tuple[str, int]] = []
        steps: list[tuple[str | None, int, str]] = []
        for number, gone, new in changes:
            kept = [word for word in texts[number].split() if word not in gone]
            rows.append((" ".join([*kept, *sorted(new)]), number))
            steps.append(("delete", number, " ".join(gone)))
            steps.append((None, number, " ".join(new)))
        self.run("UPDATE texts SET folded = ? WHERE number = ?", rows)
        self.run("INSERT INTO words (words, rowid, folded) VALUES (?, ?, ?)", steps)
        self._learn({word for change in changes for word in change.new})

    def _learn(self, met: set[str]) -> None:
        words = sorted(word for word in met if not is_status(word))
        self.run("INSERT OR IGNORE INTO vocabulary VALUES (?)", [(word,) for word in words])

    def drop_words(self, numbers: list[int]) -> None:
        rows = sorted(self.texts(numbers).items())
        self.run("INSERT INTO words (words, rowid, folded) VALUES ('delete', ?, ?)", rows)
        self.run("DELETE FROM texts WHERE number = ?", [(number,) for number in numbers])

    def merge_words(self, pages: int) -> bool:
        """Merge up to so many pages of the index of words, and return whether there were any."""
        before = self._connection.total_changes
        self.rows_of("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
        return self._connection.total_changes - before > 1  # the statement counts for one

    def texts(self, numbers: Collection[int]) -> dict[int, str]:
        clause, value = self.among(numbers)
        return dict(self.rows(f"SELECT number, folded FROM texts WHERE number {clause}", (value,)))

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        few, sieve = self._few(wanted)
        if few is not None:
            where = self._conditions(replace(wanted, words=()))
            return self.from_few(few, wanted, where, after, limit)
        total, is_part = self._total(wanted, sieve) if count else (0, False)
        page = self._page(wanted, sieve, after, limit)
        rows = self.summaries(page, wanted)
        return self.found(rows, total, wanted, is_part=is_part)

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        few, sieve = self._few(wanted)
        if few is None and sieve:
            return self._unblocking_in_order(wanted, sieve, after, limit)
        where = self._conditions(replace(wanted, words=()))
        if few is None:
            source = "tasks INDEXED BY tasks_unblocking"
            return self.unblocking_where(source, where, wanted, after, limit)
        return self._unblocking_among(few, where, wanted, after, limit)

    def _unblocking_among(
        self,
        numbers: Collection[int],
        where: Where,
        wanted: Wanted,
        after: tuple[int, str] | None,
        limit: int,
    ) -> list[Summary]:
        clause, value = self.among(numbers)
        where.need(f"number {clause}", value)
        return self.unblocking_where(self.by_number, where, wanted, after, limit)

    def _unblocking_in_order(
        self, wanted: Wanted, sieve: Sieve, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        """Return what unblocks most by a walk along its index, past what has not words and tags."""
        own = self._by_key(wanted)
        own.need("status = 'pending' AND open_blockers = 0 AND held_up = 0")
        if after:
            own.need("(unblocks < ? OR (unblocks = ? AND sort_key > ?))", after[0], *after)
        rest = replace(wanted, words=(), tags=())
        found: list[Summary] = []
        walked = 0
        sql = (
            f"SELECT number FROM tasks INDEXED BY tasks_unblocking WHERE {own} "
            "ORDER BY unblocks DESC, sort_key"
        )
        for numbers in self._walk(sql, own.values):
            where = self._conditions(rest)
            walked += len(numbers)
            if walked > LONGEST_WALK:
                sieve.settle()
                if sieve.few is not None and len(sieve.few) <= GATHERED:
                    return self._unblocking_among(sieve.few, where, wanted, after, limit)
            left = list(sieve.passing(numbers, limit - len(found)))
            found += self._unblocking_among(left, where, wanted, None, len(left))
            if len(found) >= limit:
                break
        return found[:limit]

    def _matches(self, wanted: Wanted) -> Matches:
        sql = "SELECT rowid FROM words WHERE words MATCH ?"
        values = (self._match(wanted),)
        return Matches(self._connection.execute(sql, values) if wanted.words else None)

    def _page(self, wanted: Wanted, sieve: Sieve | None, after: str, limit: int) -> list[int]:
        """Return the page by a walk in list order, past what has not the words and tags.

        Words that many tasks have are looked for in the texts, which is sooner done than to list
        all that have them; what fewer have is in few of the texts, and listed.
        """
        where = self._conditions(replace(wanted, words=(), tags=()))
        if sieve is None:
            return [number for number, _ in self._in_order(wanted, where, after, limit + 1)]
        if sieve.few is None and sieve.has_short_list(GATHERED):
            return self._gathered(wanted, sieve, after, limit)
        page: list[int] = []
        walked = 0
        sql = f"SELECT number FROM {_walk(wanted)} WHERE {where} AND sort_key > ? ORDER BY sort_key"
        for numbers in self._walk(sql, (*where.values, after)):
            page += sieve.passing(numbers, limit + 1 - len(page))
            walked += len(numbers)
            if len(page) > limit:
                break
            if walked > LONGEST_WALK:
                sieve.settle()
                if sieve.has_short_list(GATHERED):
                    return self._gathered(wanted, sieve, after, limit)
        return page[: limit + 1]

    def _gathered(self, wanted: Wanted, sieve: Sieve, after: str, limit: int) -> list[int]:
        """Return the page of all that may match, sorted."""
        clause, value = self.among(sieve.rarest() or ())
        where = self._conditions(replace(wanted, words=(), tags=()))
        sql = f"SELECT sort_key, number FROM {self.by_number} WHERE number {clause} AND {where}"
        found = sorted(self.rows(sql, (value, *where.values)))
        numbers = [number for key, number in found if key > after]
        return list(sieve.passing(numbers, limit + 1))[: limit + 1]

    def _walk(self, sql: str, values: Sequence[Any]) -> Iterator[list[int]]:
        """Give the numbers that a SELECT of many finds, in growing parts."""
        chunk = SHORTEST_WALK
        with closing(self._connection.execute(sql, values)) as cursor:
            while rows := cursor.fetchmany(chunk):
                yield [row[0] for row in rows]
                chunk *= 2

    def _in_order(
        self, wanted: Wanted, where: Where, after: str, count: int
    ) -> list[tuple[Any, ...]]:
        """Return number and sort key of the first tasks past a place."""
        return self.rows(
            f"SELECT number, sort_key FROM {_walk(wanted)} WHERE {where} AND sort_key > ? "
            "ORDER BY sort_key LIMIT ?",
            (*where.values, after, count),
        )

    def _total(self, wanted: Wanted, sieve: Sieve | None) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        if wanted.only_status:
            return self.counted(wanted.status), False
        if wanted.words and sieve:
            return self._total_of_words(wanted, sieve)
        if len(wanted.tags) == 1 and wanted == wanted.only(tags=wanted.tags):
            return self.count("SELECT 1 FROM tagged WHERE tag = ?", wanted.tags), False
        # What the index of the walk has is asked of it; the rest, of the first tasks that it gives.
        apart = replace(wanted, tags=(), due_until=None, created_after=None)
        walked = self._conditions(apart)
        if apart == wanted:
            return self.count(f"SELECT 1 FROM {_walk(wanted)} WHERE {walked}", walked.values), False
        rest = wanted.only(
            tags=wanted.tags, due_until=wanted.due_until, created_after=wanted.created_after
        )
        where = self._conditions(rest)
        sql = (
            f"SELECT count(*), count(CASE WHEN {where} THEN 1 END) FROM (SELECT number, sort_key "
            f"FROM {_walk(wanted)} WHERE {walked} ORDER BY sort_key LIMIT {EXAMINED + 1}) AS tasks"
        )
        ((looked_at, total),) = self.rows(sql, (*where.values, *walked.values))
        return int(total), looked_at > EXAMINED

    def _total_of_words(self, wanted: Wanted, sieve: Sieve) -> tuple[int, bool]:
        """Count among the first tasks that have the words, or the tags as well where these are
        listed."""
        if wanted == wanted.only(words=wanted.words, status=wanted.status):
            return len(sieve.worded(COUNTED + 1)), False
        rest = replace(wanted, words=(), tags=(), status=None)
        if sieve.few is None:
            first = sieve.worded(WORDED + 1)
            numbers, has_more = sieve.with_tags(first[:WORDED]), len(first) > WORDED
        else:
            numbers, has_more = sorted(sieve.few), len(sieve.few) > WORDED
        if rest == wanted.only():
            return len(numbers), has_more and sieve.few is None
        where = self._conditions(rest)
        clause, value = self.among(numbers[:WORDED])
        sql = f"SELECT count(*) FROM {self.by_number} WHERE number {clause} AND {where}"
        ((total,),) = self.rows(sql, (value, *where.values))
        return int(total), has_more

    def _few(self, wanted: Wanted) -> Sifted:
        """Return the numbers of tasks with the words that one other condition leaves, or several
        tags, when they are few; else what tells the tasks that have words and tags from others."""
        if wanted not in self._sifted:
            self.close()
            self._sifted[wanted] = self._sift(wanted)
        return self._sifted[wanted]

    def _sift(self, wanted: Wanted) -> Sifted:
        matches = self._matches(wanted)
        if wanted.words and not matches.has_more_than(FEW):
            matches.close()
            return matches.numbers, None
        for sql, values, few in self._probes(wanted):
            found = self.rows(f"{sql} LIMIT {few + 1}", values)
            if len(found) <= few:
                numbers = [row[0] for row in found]
                if wanted.words:
                    with closing(Sieve(self, replace(wanted, tags=()), matches)) as sieve:
                        numbers = list(sieve.passing(numbers, len(numbers)))
                return numbers, None
        if not wanted.words and not wanted.tags:
            return None, None
        sieve = Sieve(self, wanted, matches)
        if sieve.few is None or len(sieve.few) > FEW:
            return None, sieve
        sieve.close()
        return sorted(sieve.few), None

    def _probes(self, wanted: Wanted) -> Iterator[tuple[str, Sequence[Any], int]]:
        """Return the SELECTs of numbers that may be few, with their values, and how few."""
        if wanted.claimed_by is not None or wanted.held_by is not None or wanted.held:
            yield "SELECT number FROM tasks WHERE claimed_until > ?", (wanted.now,), SOME
        for tag in wanted.tags:
            yield "SELECT number FROM tagged WHERE tag = ?", (tag,), FEW
        if wanted.created_after:
            yield "SELECT number FROM tasks WHERE created_at > ?", (wanted.created_after,), NEW
        if wanted.due_until:
            yield "SELECT number FROM tasks WHERE due_at <= ?", (wanted.due_until,), FEW
        if together := self.with_tags(wanted.tags):
            # Each of those with common words as well is a text to read.
            yield *together, FEW if wanted.words else SOME

    def _conditions(self, wanted: Wanted) -> Where:
        """Return the WHERE clause; what it needs stands in the index of the walk (see sort_key)."""
        where = common_conditions(wanted, "+number")
        by_key = self._by_key(wanted)
        where.need(str(by_key), *by_key.values)
        if wanted.words:
            match = self._match(wanted)
            where.need("+number IN (SELECT rowid FROM words WHERE words MATCH ?)", match)
        return where

    def _by_key(self, wanted: Wanted) -> Where:
        """Return the conditions on times and priority that are looked up in the sort key."""
        where = common_conditions(wanted.only(priority=wanted.priority), "+number")
        if wanted.due_until:
            where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
        return where

    def _match(self, wanted: Wanted) -> str:
        """Return the FTS5 expression: the status, and every word as the beginning of a word.

        A prefix is spelt out as the known words that begin so, because FTS5 merges the lists of a
        true prefix before it answers anything; only where they are many it is left to FTS5.
        """
        status = [f'"{status_word(wanted.status)}"'] if wanted.status else []
        return " AND ".join([*status, *(self._one_of(word) for word in wanted.words)])

    def _one_of(self, word: str) -> str:
        if len(word) < SHORTEST_PREFIX:
            return f'"{word}"'
        known = self.known(word)
        if known is None:
            return f'"{word}" *'
        spelt = " OR ".join(f'"{one}"' for one in known) or f'"{word}"'
        return f"({spelt})"


def _walk(wanted: Wanted) -> str:
    """Return the table with the index to walk; without statistics SQLite prefers a wider one."""
    return "tasks INDEXED BY tasks_ready" if wanted.ready_for is not None else "tasks"
