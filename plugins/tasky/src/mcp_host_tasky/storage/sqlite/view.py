"""A reading or writing of the SQLite store, with full text by FTS5."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from typing import Any

from ...model import Event, Found, Summary, Task, Wanted
from ..sql import Drawings, KeptTexts, SqlView, Where, told_misplaced
from ..store import Guard, no_guard
from .by_bitmaps import ByBitmaps, by_bitmaps
from .searching import Searching
from .texts import Retold, plain, retold, text_of
from .walks import listed, unblocking

PLACED = (
    "sort_key",
    "status",
    "open_blockers",
    "held_up",
    "unblocks",
    "claimed_until",
    "holder",
    "claimant",
)
"""The columns of a task that stand in `places` as well."""


class SqliteView(SqlView):
    stamp = "random()"
    by_number = "tasks NOT INDEXED"
    """Where tasks are looked up by a few numbers, and by no index of another condition."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        guard: Guard = no_guard,
        drawings: Drawings | None = None,
        texts: KeptTexts | None = None,
    ) -> None:
        super().__init__(drawings, texts)
        self._connection = connection
        self._guard = guard
        self._last: tuple[Wanted, ByBitmaps | Searching] | None = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def misplaced(self) -> list[str]:
        """Say of how many tasks other things stand in `places` than in their own rows."""
        told = ", ".join(f"tasks.{name}" for name in PLACED)
        kept = ", ".join(f"places.{name}" for name in PLACED)
        joined = "tasks LEFT JOIN places USING (number)"
        sql = f"SELECT count(*) FROM {joined} WHERE ({told}) IS NOT ({kept})"
        ((count,),) = self.rows(sql)
        return told_misplaced(count)

    @contextmanager
    def reading_all_texts(self, errors: str) -> Iterator[None]:
        """Read texts that are no UTF-8 as well, with what stands for bytes that cannot be read."""
        self._connection.text_factory = partial(str, encoding="utf-8", errors=errors)
        try:
            yield
        finally:
            self._connection.text_factory = str

    def every_task(self, *, mends: bool = False) -> Iterator[Task]:
        with self.reading_all_texts("replace") if mends else nullcontext():
            yield from super().every_task(mends=mends)

    def every_event(self, *, mends: bool = False) -> Iterator[Event]:
        with self.reading_all_texts("replace") if mends else nullcontext():
            yield from super().every_event(mends=mends)

    def walk(self, sql: str, values: Sequence[Any], size: int) -> Generator[list[tuple[Any, ...]]]:
        """Give the rows of a SELECT of many, so many at a time."""
        with closing(self._connection.execute(sql, values)) as cursor:
            while rows := cursor.fetchmany(size):
                yield rows

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        self._guard()
        self._last = None
        self._connection.executemany(sql, many)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        return "json_each(?) AS one", json.dumps(list(values))

    # The index of words has no texts of its own: of a changed one, only what differs is written.
    # FTS5 writes a segment whenever a row's number is not above the one before: rows come sorted.

    def put_words(self, tasks: list[Task]) -> None:
        rows = [(task.number, text_of(task)) for task in tasks]
        self.run("INSERT INTO texts (number, folded) VALUES (?, ?)", rows)
        self.run("INSERT INTO words (rowid, folded) VALUES (?, ?)", rows)
        self._learn(set().union(*(text.split() for _, text in rows)))

    def replace_words(self, pairs: list[tuple[Task, Task]]) -> None:
        texts = self.texts([new.number for _, new in pairs])
        told = [retold(old, new, texts[new.number]) for old, new in pairs]
        changes = [change for change in told if change.gone or change.new]
        texts_of = [(change.text, change.number) for change in changes]
        self.run("UPDATE texts SET folded = ? WHERE number = ?", texts_of)
        steps = [step for change in changes for step in _steps(change)]
        self.run("INSERT INTO words (words, rowid, folded) VALUES (?, ?, ?)", steps)
        self._learn(set().union(*(change.new for change in changes)))

    def _learn(self, met: set[str]) -> None:
        clause, words = self.each(plain(met))
        self.rows_of(f"INSERT OR IGNORE INTO vocabulary SELECT value FROM {clause}", (words,))

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

    # Tags are words of that index.

    def relate_tags(self, pairs: Iterable[tuple[Task | None, Task | None]]) -> None:
        pass

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        searching = self._searching(wanted)
        numbers = searching.first(listed(after), limit + 1) if limit else []
        total, is_part = searching.total() if count else (0, False)
        return self.found(self.summaries(numbers, wanted), total, wanted, is_part=is_part)

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        numbers = self._searching(wanted).first(unblocking(after), limit)
        clause, value = self.among(numbers)
        where = Where()
        where.need(f"number {clause}", value)
        return self.unblocking_where(self.by_number, where, wanted, None, limit)

    def _searching(self, wanted: Wanted) -> ByBitmaps | Searching:
        if self._last is None or self._last[0] != wanted:
            self._last = (wanted, by_bitmaps(self, wanted) or Searching(self, wanted))
        return self._last[1]


def _steps(change: Retold) -> Iterator[tuple[str | None, int, str]]:
    """Give what tells the index of a changed text."""
    yield "delete", change.number, " ".join(change.gone)
    yield None, change.number, " ".join(change.new)
