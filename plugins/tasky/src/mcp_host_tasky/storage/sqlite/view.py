"""A reading or writing of the SQLite store, with full text by FTS5."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ...model import Found, Task, Wanted
from ..sql import (
    FEW,
    LISTED,
    SHORTEST_PREFIX,
    SOME,
    SqlView,
    Where,
    common_conditions,
    is_status,
    reworded,
    says,
    status_word,
)
from ..store import COUNTED, EXAMINED

WORDED = 4_000
"""So many tasks with the words are looked at to count those that fulfil other conditions as well:
each is a row to read, and not only an index."""
STEPS = ((10_000, 100), (0, 400), (LISTED, 400), (LISTED, 800), (LISTED, 1_600))
"""So many texts are read in list order, in growing steps, before FTS5 is asked for all matches.
First stands how many matches are sooner listed than the step's texts are read."""
NEW = 10_000
"""What is new may stand at the end of every list, where a walk comes last: so much is fetched."""
SHORTEST_WALK = 1_000


class Matches:
    """The numbers of tasks that have words, asked of FTS5 once and no further than is needed: what
    it takes to find the first is often most of what it takes to find all."""

    def __init__(self, cursor: sqlite3.Cursor | None) -> None:
        self.numbers: list[int] = []
        """Those that were asked for so far."""
        self._cursor = cursor

    def has_more_than(self, count: int) -> bool:
        missing = count + 1 - len(self.numbers)
        if self._cursor and missing > 0:
            self.numbers += [row[0] for row in self._cursor.fetchmany(missing)]
        return len(self.numbers) > count

    def close(self) -> None:
        if self._cursor:
            self._cursor.close()


class SqliteView(SqlView):
    by_number = "tasks NOT INDEXED"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
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
        texts = self._texts([change.number for change in changes])
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
        rows = sorted(self._texts(numbers).items())
        self.run("INSERT INTO words (words, rowid, folded) VALUES ('delete', ?, ?)", rows)
        self.run("DELETE FROM texts WHERE number = ?", [(number,) for number in numbers])

    def merge_words(self, pages: int) -> bool:
        """Merge up to so many pages of the index of words, and return whether there were any."""
        before = self._connection.total_changes
        self.rows_of("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
        return self._connection.total_changes - before > 1  # the statement counts for one

    def _texts(self, numbers: Collection[int]) -> dict[int, str]:
        clause, value = self.among(numbers)
        return dict(self.rows(f"SELECT number, folded FROM texts WHERE number {clause}", (value,)))

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        with closing(self._matches(wanted)) as matches:
            few = self._few(wanted, matches)
            if few is not None:
                where = self._conditions(replace(wanted, words=()))
                return self.from_few(few, wanted, where, after, limit)
            total, is_part = self._total(wanted, matches) if count else (0, False)
            page = self._near(wanted, matches, after, limit) if wanted.words else None
            if page is None:
                page = self._past(wanted, matches, after, limit)
        rows = self.summaries(page, wanted)
        return self.found(rows, total, wanted, is_part=is_part)

    def unblocking(self, wanted: Wanted) -> tuple[str, Where]:
        with closing(self._matches(wanted)) as matches:
            few = self._few(wanted, matches)
        if few is None:
            return "tasks INDEXED BY tasks_unblocking", self._conditions(wanted)
        where = self._conditions(replace(wanted, words=()))
        clause, value = self.among(few)
        where.need(f"number {clause}", value)
        return "tasks", where

    def _matches(self, wanted: Wanted) -> Matches:
        sql = "SELECT rowid FROM words WHERE words MATCH ?"
        values = (self._match(wanted),)
        return Matches(self._connection.execute(sql, values) if wanted.words else None)

    def _near(self, wanted: Wanted, matches: Matches, after: str, limit: int) -> list[int] | None:
        """Return the page if it can be filled soon by reading the texts of tasks in list order.

        Words that many tasks have are found so at once, where FTS5 would first list all of them.
        What fewer have is in few of the texts: a walk in list order past the listed matches is
        sooner done, as it meets no text.
        """
        where = self._conditions(replace(wanted, words=()))
        page: list[int] = []
        for listed, chunk in STEPS:
            if not matches.has_more_than(listed):
                return None
            rows = self._in_order(wanted, where, after, chunk)
            page += self._saying([number for number, _ in rows], wanted.words)
            if len(page) > limit or len(rows) < chunk:
                return page[: limit + 1]
            after = rows[-1][1]
        return None

    def _past(self, wanted: Wanted, matches: Matches, after: str, limit: int) -> list[int]:
        """Return the page by a walk in list order, past the matches where these can be listed."""
        if not wanted.words or matches.has_more_than(LISTED):
            where = self._conditions(wanted)
            return [number for number, _ in self._in_order(wanted, where, after, limit + 1)]
        where = self._conditions(replace(wanted, words=()))
        listed, page, chunk = set(matches.numbers), [], SHORTEST_WALK
        while True:
            rows = self._in_order(wanted, where, after, chunk)
            page += [number for number, _ in rows if number in listed]
            if len(page) > limit or len(rows) < chunk:
                return page[: limit + 1]
            after, chunk = rows[-1][1], chunk * 4

    def _in_order(
        self, wanted: Wanted, where: Where, after: str, count: int
    ) -> list[tuple[Any, ...]]:
        """Return number and sort key of the first tasks past a place."""
        return self.rows(
            f"SELECT number, sort_key FROM {_walk(wanted)} WHERE {where} AND sort_key > ? "
            "ORDER BY sort_key LIMIT ?",
            (*where.values, after, count),
        )

    def _saying(self, numbers: list[int], words: Collection[str]) -> list[int]:
        """Return those of the tasks whose texts have the words."""
        texts = self._texts(numbers)
        return [number for number in numbers if says(texts[number], words)]

    def _total(self, wanted: Wanted, matches: Matches) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        if wanted.only_status:
            return self.counted(wanted.status), False
        if wanted == wanted.only(words=wanted.words, status=wanted.status):
            matches.has_more_than(COUNTED)
            return len(matches.numbers[: COUNTED + 1]), False
        if wanted.words:
            return self._total_of_words(wanted, matches)
        # What the index of the walk has is asked of it; the rest, of the first tasks that it gives.
        apart = replace(wanted, tags=(), due_until=None, created_after=None)
        walked = self._conditions(apart)
        if apart == wanted:
            return self.count(f"SELECT 1 FROM {_walk(wanted)} WHERE {walked}", walked.values), False
        rest = wanted.only(
            tags=wanted.tags, due_until=wanted.due_until, created_after=wanted.created_after
        )
        where = self._conditions(rest)
        walk = (
            f"SELECT number, sort_key FROM {_walk(wanted)} WHERE {walked} "
            f"ORDER BY sort_key LIMIT {EXAMINED + 1}"
        )
        ((looked_at,),) = self.rows(f"SELECT count(*) FROM ({walk})", walked.values)
        sql = f"SELECT count(*) FROM ({walk}) AS tasks WHERE {where}"
        ((total,),) = self.rows(sql, (*walked.values, *where.values))
        return int(total), looked_at > EXAMINED

    def _total_of_words(self, wanted: Wanted, matches: Matches) -> tuple[int, bool]:
        """Count among the first tasks that have the words."""
        has_more = matches.has_more_than(WORDED)
        where = self._conditions(replace(wanted, words=()))
        clause, value = self.among(matches.numbers[:WORDED])
        sql = f"SELECT count(*) FROM {self.by_number} WHERE number {clause} AND {where}"
        ((total,),) = self.rows(sql, (value, *where.values))
        return int(total), has_more

    def _few(self, wanted: Wanted, matches: Matches) -> list[int] | None:
        """Return the numbers of tasks with the words that one other condition leaves, or several
        tags, when they are few."""
        if wanted.words and not matches.has_more_than(FEW):
            return matches.numbers
        for sql, values, few in self._probes(wanted):
            found = self.rows(f"{sql} LIMIT {few + 1}", values)
            if len(found) <= few:
                numbers = [row[0] for row in found]
                return self._worded(numbers, wanted, matches) if wanted.words else numbers
        if wanted.words and wanted.tags and not matches.has_more_than(LISTED):
            return self._tagged_among(matches.numbers, wanted.tags)
        return None

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
            yield *together, SOME

    def _worded(self, numbers: list[int], wanted: Wanted, matches: Matches) -> list[int]:
        """Return those of some tasks that have the words, by their texts where these are fewer."""
        if len(numbers) > FEW and not matches.has_more_than(LISTED):
            listed = set(matches.numbers)
            return [number for number in numbers if number in listed]
        return self._saying(numbers, wanted.words)

    def _tagged_among(self, numbers: list[int], tags: Collection[str]) -> list[int] | None:
        """Return those of some tasks that have all tags, when they are few."""
        left = set(numbers)
        for tag in tags:
            sql = f"SELECT number FROM tagged WHERE tag = ? LIMIT {LISTED + 1}"
            found = self.rows(sql, (tag,))
            if len(found) <= LISTED:
                left.intersection_update(row[0] for row in found)
        return sorted(left) if len(left) <= SOME else None

    def _conditions(self, wanted: Wanted) -> Where:
        """Return the WHERE clause; what it needs stands in the index of the walk (see sort_key)."""
        where = common_conditions(wanted, "+number")
        if wanted.due_until:
            where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
        if wanted.words:
            match = self._match(wanted)
            where.need("+number IN (SELECT rowid FROM words WHERE words MATCH ?)", match)
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
