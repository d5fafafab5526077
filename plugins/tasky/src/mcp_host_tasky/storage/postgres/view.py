"""A reading or writing of the PostgreSQL store."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

import psycopg

from ...model import Found, Status, Summary, Task, Wanted
from ..readiness import IS_PENDING
from ..sql import Drawings, KeptTexts, SqlView, Where, task_settings, told_misplaced
from ..store import Changes
from .by_bitmaps import ByBitmaps, by_bitmaps
from .lexemes import lexemes_of, month_lexeme, plain, relexed
from .listing import array
from .searching import Searching

# So many rows go to the server in one statement.
_ROWS = 1_000
IS_READY = "({0}.status = 'pending' AND {0}.open_blockers = 0 AND {0}.held_up = 0)"
"""Whether nothing that a task waits for is open."""
_VECTOR = "array_to_tsvector(string_to_array({}, ' '))"


def _together(connection: psycopg.Connection[tuple[Any, ...]]) -> AbstractContextManager[object]:
    """Let statements go out without waiting for the answers before them, where libpq can."""
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


class PostgresView(SqlView):
    """`now` is when it began by the database's clock; of a writing, `last_event` and `last_number`
    are those before it."""

    stamp = "(random() * 1e18)::bigint"

    def __init__(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        now: datetime,
        last_event: int | None = None,
        last_number: int | None = None,
        *,
        drawings: Drawings | None = None,
        texts: KeptTexts | None = None,
    ) -> None:
        super().__init__(drawings, texts)
        self._connection = connection
        self._now = now
        self._last_event = last_event
        self._last_number = last_number
        self._counts: dict[Status, int] | None = None
        self.worded = 0
        """How many tasks got other words here, which the index of words has yet to take in."""
        self._last: tuple[Wanted, ByBitmaps | Searching] | None = None
        self._tag_counts: dict[str, tuple[int, int]] = {}
        """How many have a tag, and up to how many that was counted: it is asked more than once."""

    def now(self) -> datetime:
        return self._now

    # A search needs these more than once, and each question is a message to the server.

    def last_event(self) -> int:
        if self._last_event is None:
            self._last_event = super().last_event()
        return self._last_event

    def last_number(self) -> int:
        if self._last_number is None:
            self._last_number = super().last_number()
        return self._last_number

    def counts(self) -> dict[Status, int]:
        if self._counts is None:
            self._counts = super().counts()
        return self._counts

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_psycopg(sql), values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        rows = list(many)
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_psycopg(sql), rows)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        names = ", ".join(columns)
        source = f"SELECT {names} FROM json_populate_recordset(NULL::{table}, ?::json)"
        for part in _as_json(columns, rows):
            self.rows_of(f"INSERT INTO {table} ({names}) {source}", (part,))

    def update_tasks(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        # One statement for all rows: the server plans it once.
        settings = task_settings(columns, "new.{}")
        source = "json_populate_recordset(NULL::tasks, ?::json) AS new"
        for part in _as_json([*columns, "number"], rows):
            sql = f"UPDATE tasks SET {settings} FROM {source} WHERE tasks.number = new.number"
            self.rows_of(sql, (part,))

    def add(self, table: str, column: str, key: str, rows: Sequence[Sequence[Any]]) -> None:
        source = f"json_populate_recordset(NULL::{table}, ?::json) AS step"
        for part in _as_json([column, key], rows):
            setting = f"{column} = {table}.{column} + step.{column}"
            sql = f"UPDATE {table} SET {setting} FROM {source} WHERE {table}.{key} = step.{key}"
            self.rows_of(sql, (part,))

    def recount_blockers(self, ids: list[str]) -> None:
        # Joined once: a count for each task is quadratic where the planner takes the tables for
        # empty, as it does while a plan is filled. It goes by no status, whose index has most.
        found = (
            "SELECT one.id, count(blocker.task_id) AS number FROM unnest(?::text[]) AS one (id) "
            "LEFT JOIN waits ON waits.task_id = one.id LEFT JOIN tasks AS blocker "
            f"ON blocker.task_id = waits.blocker_id AND {IS_PENDING.format('blocker')} GROUP BY 1"
        )
        self.rows_of(
            f"UPDATE tasks SET open_blockers = found.number FROM ({found}) AS found "
            "WHERE tasks.task_id = found.id AND open_blockers <> found.number",
            (ids,),
        )

    def delete(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        source = f"json_populate_recordset(NULL::{table}, ?::json) AS gone"
        where = " AND ".join(f"{table}.{column} = gone.{column}" for column in columns)
        for part in _as_json(columns, rows):
            self.rows_of(f"DELETE FROM {table} USING {source} WHERE {where}", (part,))

    def apply(self, changes: Changes) -> None:
        self._last = self._last_event = self._last_number = self._counts = None
        self._tag_counts.clear()
        with _together(self._connection):
            super().apply(changes)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "= ANY (?)", list(values)

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        return "unnest(?::text[]) AS one (value)", list(values)

    def words_from(self, task: Task) -> tuple[Any, ...]:
        return (*super().words_from(task), month_lexeme(task.created_at))

    def put_words(self, tasks: list[Task]) -> None:
        every = [(task, lexemes_of(task)) for task in tasks]
        rows = [(one.number, one.sort_key, one.is_open, " ".join(found)) for one, found in every]
        for part in _as_json(("number", "sort_key", "is_ready", "text"), rows):
            self.rows_of(
                "INSERT INTO words (number, sort_key, is_ready, words) "
                f"SELECT number, sort_key, is_ready, {_VECTOR.format('text')} "
                "FROM json_to_recordset(?::json) "
                "AS given (number bigint, sort_key text, is_ready boolean, text text)",
                (part,),
            )
        self.worded += len(tasks)
        self._learn(set().union(*(found for _, found in every)))

    def replace_words(self, pairs: list[tuple[Task, Task]]) -> None:
        changes = [(new, relexed(old, new)) for old, new in pairs]
        rows = [
            (one.number, one.sort_key, one.is_open, " ".join(change.gone), " ".join(change.new))
            for one, change in changes
            if change.gone or change.new
        ]
        # What stands beside the words is set with them: the trigger finds nothing to be done, most
        # of the time, and the row is written once.
        for part in _as_json(("number", "sort_key", "is_open", "gone", "new"), rows):
            self.rows_of(
                "UPDATE words SET sort_key = other.sort_key, "
                "is_ready = words.is_ready AND other.is_open, words = "
                "ts_delete(words, string_to_array(other.gone, ' ')) || "
                f"{_VECTOR.format('other.new')} FROM json_to_recordset(?::json) AS other "
                "(number bigint, sort_key text, is_open boolean, gone text, new text) "
                "WHERE words.number = other.number",
                (part,),
            )
        self.worded += len(rows)
        self._learn(set().union(*(change.new for _, change in changes)))

    def _learn(self, met: set[str]) -> None:
        if words := plain(met):
            self.rows_of(
                "INSERT INTO vocabulary SELECT unnest(string_to_array(?, ' ')) "
                "ON CONFLICT DO NOTHING",
                (" ".join(words),),
            )

    def misplaced(self) -> list[str]:
        """Say of how many tasks other things stand beside their words than in their own rows."""
        row = f"tasks.sort_key, tasks.unblocks, {IS_READY.format('tasks')}"
        kept = "words.sort_key, words.unblocks, words.is_ready"
        joined = "tasks LEFT JOIN words USING (number)"
        sql = f"SELECT count(*) FROM {joined} WHERE ({row}) IS DISTINCT FROM ({kept})"
        ((count,),) = self.rows(sql)
        return told_misplaced(count)

    def drop_words(self, numbers: list[int]) -> None:
        self.run("DELETE FROM words WHERE number = ?", [(number,) for number in numbers])

    def texts(self, numbers: Collection[int]) -> dict[int, str]:
        text = "array_to_string(tsvector_to_array(words), ' ')"
        sql = f"SELECT number, {text} FROM words WHERE number = ANY (?::bigint[])"
        return dict(self.rows(sql, (array(numbers),)))

    def having_tag(self, tag: str, most: int) -> int:
        """Return how many tasks have a tag, at least one more than so many where more have it."""
        counted, bound = self._tag_counts.get(tag, (1, 0))
        if counted > bound and bound < most:
            counted = self.count("SELECT 1 FROM tagged WHERE tag = ?", (tag,), most)
            self._tag_counts[tag] = counted, most
        return counted

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        return self._searching(wanted).page(after, limit, count=count)

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        found = self._searching(wanted).most_unblocking(after, limit)
        if isinstance(found, Where):
            return self.unblocking_where("tasks", found, wanted, after, limit)
        clause, value = self.among(found)
        # Found before they are sorted: else the database could walk all tasks.
        few = f"WITH few AS MATERIALIZED (SELECT * FROM tasks WHERE number {clause})"
        where = Where()
        where.values.append(value)
        source = f"({few} SELECT * FROM few) AS tasks"
        return self.unblocking_where(source, where, wanted, None, limit)

    def _searching(self, wanted: Wanted) -> ByBitmaps | Searching:
        if self._last is None or self._last[0] != wanted:
            self._last = (wanted, by_bitmaps(self, wanted) or Searching(self, wanted))
        return self._last[1]


def _as_json(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Return the rows as JSON, by the names of their columns, so many at a time."""
    for start in range(0, len(rows), _ROWS):
        part = [dict(zip(columns, row, strict=True)) for row in rows[start : start + _ROWS]]
        yield json.dumps(part, ensure_ascii=False)


def _psycopg(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()
