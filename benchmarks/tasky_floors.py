"""What the raw databases take for the dearest work of a plan: bare statements on the same tables.

Nothing of Tasky runs here. A write changes the rows, indexes, words and events that the tool's call
changes, in one transaction that is made durable; a search asks the index of words alone. All that
runs on a copy of the plan, which is removed: bare rows without what Tasky keeps beside them, such
as its counters, are damage, and a plan that is kept is used again.
"""

import json
import random
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

WORDS_APART = ("even", "odd")
MANY = 50
AT = "2026-11-01T00:00:00.000000Z"
TASK = (
    "number, task_id, sort_key, name, status, priority, created_at, updated_at, revision,"
    " last_event, tags, blockers, details"
)
EVENT = "event_id, batch, item, at, caller, action, task_id, name, revision, changes, previous"
EDITED = "name, priority, sort_key, updated_at, number"
CLAIMED = "claimant, claim_token, claimed_until, holder, number"


class _Database(Protocol):
    """One of the two databases, by what differs between them."""

    def write(self) -> Any: ...
    def insert(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None: ...
    def update(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        """Set columns; the last one is the key."""

    def put_words(self, rows: list[tuple[str, int]]) -> None: ...
    def add_words(self, rows: list[tuple[str, int]]) -> None:
        """Have tasks found by further words, which is the least that an edit changes."""

    def rows(self, numbers: list[int]) -> None: ...
    def one(self, statement: str) -> int: ...
    def having(self, words: Iterable[str]) -> None: ...


class _SQLite:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        for pragma in ("synchronous = FULL", "cache_size = -32000", "mmap_size = 268435456"):
            connection.execute(f"PRAGMA {pragma}")

    @contextmanager
    def write(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        yield
        self._connection.execute("COMMIT")

    def insert(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        self._connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def update(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        *names, key = columns.split(", ")
        settings = ", ".join(f"{name} = ?" for name in names)
        self._connection.executemany(f"UPDATE {table} SET {settings} WHERE {key} = ?", rows)

    def put_words(self, rows: list[tuple[str, int]]) -> None:
        self.insert("texts", "folded, number", rows)
        self.insert("words", "folded, rowid", rows)

    def add_words(self, rows: list[tuple[str, int]]) -> None:
        rows = sorted(rows, key=lambda row: row[1])
        statement = "UPDATE texts SET folded = folded || ? WHERE number = ?"
        self._connection.executemany(statement, [(f" {text}", number) for text, number in rows])
        self.insert("words", "folded, rowid", rows)

    def rows(self, numbers: list[int]) -> None:
        marks = ", ".join("?" * len(numbers))
        statement = f"SELECT * FROM tasks WHERE number IN ({marks})"
        self._connection.execute(statement, numbers).fetchall()

    def one(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0])

    def having(self, words: Iterable[str]) -> None:
        statement = "SELECT rowid FROM words WHERE words MATCH ?"
        self._connection.execute(statement, (" AND ".join(words),)).fetchall()


class _PostgreSQL:
    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        found = "SELECT schemaname FROM pg_tables WHERE tablename = 'tagged'"  # the plan's own
        schema = str(connection.execute(found).fetchall()[0][0])
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))

    @contextmanager
    def write(self) -> Iterator[None]:
        with self._connection.transaction(), self._connection.pipeline():
            yield

    def insert(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        source = f"SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s::json)"
        self._send(f"INSERT INTO {table} ({columns}) {source}", columns, rows)

    def update(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        *names, key = columns.split(", ")
        settings = ", ".join(f"{name} = new.{name}" for name in names)
        source = f"json_populate_recordset(NULL::{table}, %s::json) AS new"
        where = f"{table}.{key} = new.{key}"
        self._send(f"UPDATE {table} SET {settings} FROM {source} WHERE {where}", columns, rows)

    def put_words(self, rows: list[tuple[str, int]]) -> None:
        source = "json_to_recordset(%s::json) AS new (text text, number bigint)"
        words = "array_to_tsvector(string_to_array(text, ' '))"
        statement = f"INSERT INTO words (number, words) SELECT number, {words} FROM {source}"
        self._send(statement, "text, number", rows)

    def add_words(self, rows: list[tuple[str, int]]) -> None:
        source = "json_to_recordset(%s::json) AS new (text text, number bigint)"
        added = "words || array_to_tsvector(string_to_array(text, ' '))"
        statement = (
            f"UPDATE words SET words = {added} FROM {source} WHERE words.number = new.number"
        )
        self._send(statement, "text, number", rows)

    def _send(self, statement: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        names = columns.split(", ")
        data = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
        self._connection.execute(statement.encode(), (data,))

    def rows(self, numbers: list[int]) -> None:
        statement = "SELECT * FROM tasks WHERE number = ANY(%s)"
        self._connection.execute(statement, (numbers,)).fetchall()

    def one(self, statement: str) -> int:
        row = self._connection.execute(statement.encode()).fetchone()
        return int(row[0]) if row else 0

    def having(self, words: Iterable[str]) -> None:
        statement = "SELECT number FROM words WHERE words @@ %s::tsquery"
        self._connection.execute(statement, (" & ".join(f"'{word}'" for word in words),)).fetchall()


def of_sqlite(file: Path, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    """The times in milliseconds on a copy of a plan's SQLite file, by name."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        copy = Path(folder) / file.name
        with closing(sqlite3.connect(file)) as plan, closing(sqlite3.connect(copy)) as target:
            plan.backup(target)
            target.execute("PRAGMA journal_mode = WAL")
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            return _measured(_SQLite(connection), rounds, word)


def of_postgresql(url: str, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    """The times in milliseconds on a copy of a plan's PostgreSQL database, by name."""
    plan = sql.Identifier(conninfo_to_dict(url)["dbname"])
    copy = "tasky_floors"
    # A database is copied and dropped from another one.
    with psycopg.connect(url, dbname="template1", autocommit=True) as server:
        _drop(server, copy)
        make = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        server.execute(make.format(sql.Identifier(copy), plan))
        try:
            with psycopg.connect(url, dbname=copy, autocommit=True) as connection:
                return _measured(_PostgreSQL(connection), rounds, word)
        finally:
            _drop(server, copy)


def _drop(server: "psycopg.Connection[Any]", database: str) -> None:
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(database)))


def _measured(database: _Database, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    chance = random.Random(11)
    last = database.one("SELECT max(number) FROM tasks")
    event = database.one("SELECT max(event_id) FROM events") + 1
    writes = _Writes(database, chance, word, last, event)
    kinds: dict[str, Callable[[], None]] = {
        "get 50": lambda: database.rows(chance.sample(range(1, last + 1), MANY)),
        "search, rare word": lambda: database.having([word()]),
        "search, common words never together": lambda: database.having(WORDS_APART),
        "create 50": writes.create,
        "edit 50": writes.edit,
        "claim": writes.claim,
    }
    return {name: [_timed(work) for _ in range(rounds)] for name, work in kinds.items()}


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


class _Writes:
    def __init__(
        self,
        database: _Database,
        chance: random.Random,
        word: Callable[[], str],
        last: int,
        event: int,
    ) -> None:
        self._database = database
        self._chance = chance
        self._word = word
        self._there = last
        self._last = last
        self._event = event

    def create(self) -> None:
        numbers = range(self._last + 1, self._last + MANY + 1)
        self._last += MANY
        rows, words = [], []
        for number in numbers:
            name = f"update server {self._word()}"
            key = f"2 9999-12-31 {number:015}"
            task = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
            row = (number, task, key, name, "pending", 2, AT, AT, 1, self._event, "[]", "[]", name)
            rows.append(row)
            words.append((f"pending {name}", number))
        with self._database.write():
            self._database.insert("tasks", TASK, rows)
            self._database.put_words(words)
            self._note("create", [row[1] for row in rows])

    def edit(self) -> None:
        numbers = self._chance.sample(range(1, self._there + 1), MANY)
        rows, words = [], []
        for number in numbers:
            word, priority = self._word(), self._chance.randint(1, 5)
            name, key = f"update server {word}", f"{priority} 9999-12-31 {number:015}"
            rows.append((name, priority, key, AT, number))
            words.append((f"{word}{self._event}", number))
        with self._database.write():
            self._database.update("tasks", EDITED, rows)
            self._database.add_words(words)
            self._note("update", [str(number) for number in numbers])

    def claim(self) -> None:
        number = self._chance.randrange(1, self._there)
        row = ("somebody", "token", AT, "somebody", number)
        with self._database.write():
            self._database.update("tasks", CLAIMED, [row])
            self._note("claim", [str(number)])

    def _note(self, action: str, tasks: list[str]) -> None:
        rows = []
        for item, task in enumerate(tasks):
            named = (AT, "somebody", action, task, "update server", 1, '{"name": ["a", "b"]}', 0)
            rows.append((self._event, self._event, item, *named))
            self._event += 1
        self._database.insert("events", EVENT, rows)
