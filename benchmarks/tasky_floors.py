"""What the raw databases take for the dearest work of a plan: bare statements on the same tables.

Nothing of Tasky runs here. A write changes the rows, indexes, words and events that the tool's call
changes, in one transaction that is made durable; a search asks the index of words alone.
"""

import random
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

ALONE = ", in the database alone"
NAMES = (
    "get 50",
    "create 50",
    "edit 50",
    "search, rare word",
    "search, common words never together",
)
WORDS_APART = ("even", "odd")
MANY = 50
AT = "2026-11-01T00:00:00.000000Z"
TASK = (
    "number, task_id, sort_key, name, status, priority, created_at, updated_at, revision,"
    " last_event, tags, blockers, details"
)
EVENT = "event_id, batch, item, at, caller, action, task_id, name, revision, changes, previous"


class _Database(Protocol):
    """One of the two databases, by what differs between them."""

    def write(self) -> Any: ...
    def many(self, statement: str, rows: list[tuple[Any, ...]]) -> None: ...
    def one(self, statement: str) -> int: ...
    def having(self, words: Iterable[str]) -> None: ...

    put_words: str
    change_words: str


class _SQLite:
    put_words = "INSERT INTO words (folded, rowid) VALUES (?, ?)"
    change_words = "UPDATE words SET folded = ? WHERE rowid = ?"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        for pragma in ("synchronous = FULL", "cache_size = -32000", "mmap_size = 268435456"):
            connection.execute(f"PRAGMA {pragma}")

    @contextmanager
    def write(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        yield
        self._connection.execute("COMMIT")

    def many(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        self._connection.executemany(statement, rows)

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
    put_words = "INSERT INTO words (words, number) VALUES (array_to_tsvector(%s), %s)"
    change_words = "UPDATE words SET words = array_to_tsvector(%s) WHERE number = %s"

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        found = "SELECT schemaname FROM pg_tables WHERE tablename = 'tagged'"  # the plan's own
        schema = str(connection.execute(found).fetchall()[0][0])
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))

    @contextmanager
    def write(self) -> Iterator[None]:
        with self._connection.transaction(), self._connection.pipeline():
            yield

    def many(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        if "array_to_tsvector" in statement:
            rows = [(text.split(), number) for text, number in rows]
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    def rows(self, numbers: list[int]) -> None:
        statement = "SELECT * FROM tasks WHERE number = ANY(%s)"
        self._connection.execute(statement, (numbers,)).fetchall()

    def one(self, statement: str) -> int:
        row = self._connection.execute(statement).fetchone()
        return int(row[0]) if row else 0

    def having(self, words: Iterable[str]) -> None:
        statement = "SELECT number FROM words WHERE words @@ %s::tsquery"
        self._connection.execute(statement, (" & ".join(f"'{word}'" for word in words),)).fetchall()


def of_sqlite(file: Path, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    """The times in milliseconds on a plan's SQLite file, by name; the file is written."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        return _measured(_SQLite(connection), rounds, word)


def of_postgresql(url: str, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    """The times in milliseconds on a plan's PostgreSQL database, by name; it is written."""
    with psycopg.connect(url, autocommit=True) as connection:
        return _measured(_PostgreSQL(connection), rounds, word)


def _measured(database: _Database, rounds: int, word: Callable[[], str]) -> dict[str, list[float]]:
    chance = random.Random(11)
    last = database.one("SELECT max(number) FROM tasks")
    event = database.one("SELECT max(event_id) FROM events") + 1
    writes = _Writes(database, chance, word, last, event)
    kinds: dict[str, Callable[[], None]] = {
        "get 50": lambda: database.rows(chance.sample(range(1, last + 1), MANY)),
        "create 50": writes.create,
        "edit 50": writes.edit,
        "search, rare word": lambda: database.having([word()]),
        "search, common words never together": lambda: database.having(WORDS_APART),
    }
    return {f"{name}{ALONE}": [_timed(work) for _ in range(rounds)] for name, work in kinds.items()}


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
            marks = ", ".join("?" * len(rows[0]))
            self._database.many(f"INSERT INTO tasks ({TASK}) VALUES ({marks})", rows)
            self._database.many(self._database.put_words, words)
            self._note("create", [row[1] for row in rows])

    def edit(self) -> None:
        numbers = self._chance.sample(range(1, self._there + 1), MANY)
        rows, words = [], []
        for number in numbers:
            name, priority = f"update server {self._word()}", self._chance.randint(1, 5)
            rows.append((name, priority, f"{priority} 9999-12-31 {number:015}", AT, number))
            words.append((f"pending {name}", number))
        with self._database.write():
            self._database.many(
                "UPDATE tasks SET name = ?, priority = ?, sort_key = ?, updated_at = ?,"
                " revision = revision + 1 WHERE number = ?",
                rows,
            )
            self._database.many(self._database.change_words, words)
            self._note("update", [str(number) for number in numbers])

    def _note(self, action: str, tasks: list[str]) -> None:
        rows = []
        for item, task in enumerate(tasks):
            named = (AT, "somebody", action, task, "update server", 1, '{"name": ["a", "b"]}', 0)
            rows.append((self._event, self._event, item, *named))
            self._event += 1
        marks = ", ".join("?" * len(rows[0]))
        self._database.many(f"INSERT INTO events ({EVENT}) VALUES ({marks})", rows)
