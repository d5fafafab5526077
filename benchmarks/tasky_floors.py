"""What the raw databases take for the dearest work of a plan: bare statements on the same tables.

Nothing of Tasky runs here. A write changes the rows, indexes, words and events that the tool's call
changes, in one transaction that is made durable. A search asks the index of words, and the
narrowest rows that have its other conditions, for the numbers of all that match: it sorts nothing,
and reads no task to show it. All that runs on a copy of the plan, which is removed: bare rows
without what Tasky keeps beside them, such as its counters, are damage, and a plan that is kept is
used again.
"""

import json
import random
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

MANY = 50
SEARCHES = 100
"""So many searches of a kind at the most: one for all that match may take a database seconds."""
TOGETHER = 32
"""After so many edits what they added to the index is taken in, and each has its share of that."""
LEVELS = 400
READY = "status = 'pending' AND open_blockers = 0 AND held_up = 0"
# A sort key begins with 5 less the priority, and goes on with the day.
PRIORITY = "sort_key >= '1' AND sort_key < '1~'"
DUE = "substr(sort_key, 2, 20) <= '2027-06-01~'"
AT = "2026-11-01T00:00:00.000000Z"
TASK = (
    "number, task_id, sort_key, name, status, priority, created_at, updated_at, revision,"
    " last_event, tags, blockers, details"
)
EVENT = "event_id, batch, item, at, caller, action, task_id, name, revision, changes, previous"
EDITED = "name, priority, sort_key, updated_at, number"
CLAIMED = "claimant, claim_token, claimed_until, holder, number"


class Asked(NamedTuple):
    """A search: words that all stand in a task, a tag, a condition on its sort key, and whether it
    can be begun."""

    words: Sequence[str]
    tag: str | None = None
    key: str | None = None
    is_ready: bool = False


class _Database(Protocol):
    """One of the two databases, by what differs between them."""

    def write(self) -> Any: ...
    def insert(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None: ...
    def update(self, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        """Set columns; the last one is the key."""

    def put_words(self, rows: list[tuple[str, int]]) -> None: ...
    def add_words(self, rows: list[tuple[str, int]]) -> None:
        """Have tasks found by further words, which is the least that an edit changes."""

    def add_tags(self, rows: list[tuple[str, int]]) -> None: ...
    def take_in(self) -> None:
        """Have the index of words take in what waits for it: some write must pay for that."""

    def rows(self, numbers: list[int]) -> None: ...
    def one(self, statement: str) -> int: ...
    def all(self, statement: str) -> None: ...
    def found(self, asked: Asked) -> None:
        """Have the numbers of all tasks that a search finds."""


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

    def add_tags(self, rows: list[tuple[str, int]]) -> None:
        self.add_words([(f"§{tag}", number) for tag, number in rows])

    def take_in(self) -> None:
        """It takes in what a write adds with that write."""

    def rows(self, numbers: list[int]) -> None:
        marks = ", ".join("?" * len(numbers))
        statement = f"SELECT * FROM tasks WHERE number IN ({marks})"
        self._connection.execute(statement, numbers).fetchall()

    def one(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0])

    def all(self, statement: str) -> None:
        self._connection.execute(statement).fetchall()

    def found(self, asked: Asked) -> None:
        words = [*asked.words, *([f'"§{asked.tag}"'] if asked.tag else [])]
        statement = "SELECT rowid FROM words WHERE words MATCH ?"
        if where := READY if asked.is_ready else asked.key:
            # The order of a CROSS JOIN is that of the loops.
            joined = "AS one CROSS JOIN places ON places.number = one.rowid"
            statement = f"SELECT places.number FROM ({statement}) {joined} WHERE {where}"
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
        columns = "number, sort_key, is_ready, words"
        words = "number, number::text, true, array_to_tsvector(string_to_array(text, ' '))"
        statement = f"INSERT INTO words ({columns}) SELECT {words} FROM {source}"
        self._send(statement, "text, number", rows)

    def add_words(self, rows: list[tuple[str, int]]) -> None:
        source = "json_to_recordset(%s::json) AS new (text text, number bigint)"
        added = "words || array_to_tsvector(string_to_array(text, ' '))"
        statement = (
            f"UPDATE words SET words = {added} FROM {source} WHERE words.number = new.number"
        )
        self._send(statement, "text, number", rows)

    def add_tags(self, rows: list[tuple[str, int]]) -> None:
        self.insert("tagged", "tag, number", rows)
        self.add_words([(f"§{tag}", number) for tag, number in rows])

    def take_in(self) -> None:
        self._connection.execute("SELECT gin_clean_pending_list('words_index')")

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

    def all(self, statement: str) -> None:
        self._connection.execute(statement.encode()).fetchall()

    def found(self, asked: Asked) -> None:
        tags = [f"§{asked.tag}"] if asked.tag else []
        statuses = ["·pending"] if asked.is_ready else []
        query = " & ".join(f"'{word}'" for word in [*asked.words, *tags, *statuses])
        where = "is_ready" if asked.is_ready else asked.key or "true"
        statement = f"SELECT number FROM words WHERE words @@ %s::tsquery AND {where}"
        self._connection.execute(statement.encode(), (query,)).fetchall()


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
        "page of 50": lambda: database.all("SELECT * FROM tasks ORDER BY sort_key LIMIT 51"),
        "get 50": lambda: database.rows(chance.sample(range(1, last + 1), MANY)),
        "create one": lambda: writes.create(1),
        "create 50": lambda: writes.create(MANY),
        "edit one": lambda: writes.edit(1),
        "edit 50, their tags": writes.tag,
        "move a tree of 400 levels": writes.move,
        "claim": writes.claim,
    }
    searched = {
        name: [_timed(partial(database.found, asked())) for _ in range(min(rounds, SEARCHES))]
        for name, asked in _searches(word).items()
    }
    times = {name: [_timed(work) for _ in range(rounds)] for name, work in kinds.items()}
    database.take_in()
    times["edit 50"] = []
    for _ in range(0, rounds, TOGETHER):
        each = [_timed(lambda: writes.edit(MANY)) for _ in range(TOGETHER)]
        share = _timed(database.take_in) / TOGETHER
        times["edit 50"] += [one + share for one in each]
    return searched | times


def _searches(word: Callable[[], str]) -> dict[str, Callable[[], Asked]]:
    """Return searches of the benchmark by their names; words differ from call to call. Those that
    all or half of the tasks match are left out: to list them takes a database a second."""
    return {
        "search, rare word": lambda: Asked([word()]),
        "search, common words never together": lambda: Asked(["even", "odd"]),
        "search, a word and a tag": lambda: Asked([word()], tag="t1"),
        "search, a common word and a tag": lambda: Asked(["even"], tag="t1"),
        "search, a word and ready": lambda: Asked([word()], is_ready=True),
        "search, a word and a priority": lambda: Asked([word()], key=PRIORITY),
        "search, a word and a date": lambda: Asked([word()], key=DUE),
        "search, a word, what unblocks most": lambda: Asked([word()], is_ready=True),
        "search, a word, a tag, what unblocks most": lambda: Asked([word()], "t1", is_ready=True),
    }


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
        self._waits = False

    def create(self, count: int) -> None:
        numbers = range(self._last + 1, self._last + count + 1)
        self._last += count
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

    def edit(self, count: int) -> None:
        numbers = self._chance.sample(range(1, self._there + 1), count)
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

    def tag(self) -> None:
        numbers = self._chance.sample(range(1, self._there + 1), MANY)
        tag = f"{self._word()}{self._event}"
        with self._database.write():
            rows = [(f'["{tag}"]', AT, number) for number in numbers]
            self._database.update("tasks", "tags, updated_at, number", rows)
            self._database.add_tags([(tag, number) for number in numbers])
            self._note("update", [str(number) for number in numbers])

    def move(self) -> None:
        """Have the last tasks wait, or wait no more, as parts of one that does."""
        self._waits = not self._waits
        numbers = range(self._there - LEVELS + 1, self._there + 1)
        with self._database.write():
            rows = [(int(self._waits), number) for number in numbers]
            self._database.update("tasks", "held_up, number", rows)
            self._note("update", [str(self._there)])

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
