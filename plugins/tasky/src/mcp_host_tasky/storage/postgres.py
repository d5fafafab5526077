"""The PostgreSQL store: one schema for each plan, for more than one machine."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql as names

from ..errors import Busy, Unavailable
from ..model import Found, Wanted
from .base import Guard, no_guard
from .sql import SHORTEST_PREFIX, TABLES, SqlView, summary_of

VERSION = 2
_STATEMENT_MS = 30_000
_COUNTED = 10_000
_WORDS = """
CREATE TABLE words (number BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX words_index ON words USING gin (words);
CREATE TABLE format (version INTEGER NOT NULL);
"""
# What some hosting providers add to a URL and libpq does not know.
_NOT_LIBPQ = frozenset({"pgbouncer", "connection_limit", "pool_timeout", "schema"})


class Postgres:
    """A plan in a PostgreSQL schema. Writers of one plan take turns; readers wait for nobody."""

    kind = "postgresql"

    def __init__(self, url: str, schema: str) -> None:
        self._url = libpq_url(url)
        self._schema = schema
        self._idle: list[psycopg.Connection[tuple[Any, ...]]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._prepare()

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        with self._transaction("REPEATABLE READ READ ONLY") as view:
            yield view

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        with self._transaction("READ COMMITTED") as view:
            # The row is the plan's turnstile: numbers, event ids and cycle checks need one writer.
            view.rows("SELECT version FROM format FOR UPDATE")
            yield view
            guard()

    def tidy(self) -> None:
        """The server does that itself."""

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _transaction(self, mode: str) -> Iterator["PostgresView"]:
        with self._connection() as connection:
            connection.execute(f"BEGIN ISOLATION LEVEL {mode}")
            try:
                connection.execute(
                    "SELECT set_config('search_path', %s, true), "
                    "set_config('statement_timeout', %s, true)",
                    (self._schema, str(_STATEMENT_MS)),
                )
                yield PostgresView(connection)
                connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        try:
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)
        except psycopg.errors.QueryCanceled as error:
            raise Busy(
                "The database did not answer in time.",
                reason="store_busy",
                suggestions=["Try again."],
            ) from error
        except psycopg.OperationalError as error:
            # The driver's words name host and user, and may come to hold more: not passed on.
            raise Unavailable(
                "The plan's PostgreSQL database cannot be reached.",
                reason="database_unreachable",
                suggestions=["Check that it runs and that the URL is right, then try again."],
            ) from error

    def _borrow(self) -> psycopg.Connection[tuple[Any, ...]]:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed and not connection.broken:
                    return connection
        # Prepared statements would not survive a pooler between here and the database.
        return psycopg.connect(
            self._url, autocommit=True, connect_timeout=10, prepare_threshold=None
        )

    def _give_back(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        idle = connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _prepare(self) -> None:
        with self._connection() as connection, connection.transaction():
            # Two machines may meet a new plan at once; the lock is named after the schema.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._schema,))
            found = connection.execute(
                "SELECT 1 FROM information_schema.tables "
                "WHERE table_schema = %s AND table_name = 'format'",
                (self._schema,),
            ).fetchone()
            if found:
                self._check_version(connection)
                return
            schema = names.Identifier(self._schema)
            connection.execute(names.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute("SELECT set_config('search_path', %s, true)", (self._schema,))
            connection.execute((TABLES + _WORDS).format(text='TEXT COLLATE "C"').encode())
            connection.execute("INSERT INTO format VALUES (%s)", (VERSION,))

    def _check_version(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        query = names.SQL("SELECT version FROM {}.format").format(names.Identifier(self._schema))
        row = connection.execute(query).fetchone()
        if row is None or row[0] != VERSION:
            raise Unavailable(
                f"The plan's database has format {row and row[0]}; this Tasky reads {VERSION}.",
                reason="newer_store",
                suggestions=["Upgrade mcp-host-tasky."],
            )


class PostgresView(SqlView):
    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_psycopg(sql), values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        rows = list(many)
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_psycopg(sql), rows)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "= ANY (?)", list(values)

    def put_words(self, rows: list[tuple[int, str]]) -> None:
        self.run(
            "INSERT INTO words (number, words) VALUES (?, array_to_tsvector(?))",
            [(number, [word[:500] for word in text.split()]) for number, text in rows],
        )

    def replace_words(self, rows: list[tuple[int, str]]) -> None:
        self.drop_words([number for number, _ in rows])
        self.put_words(rows)

    def drop_words(self, numbers: list[int]) -> None:
        self.run("DELETE FROM words WHERE number = ?", [(number,) for number in numbers])

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        where, values = _conditions(wanted)
        columns = "task_id, name, status, priority, due_date, sort_key" + (
            ", details" if wanted.words else ""
        )
        rows = self.rows(
            f"SELECT {columns} FROM tasks WHERE {where} AND sort_key > ? ORDER BY sort_key LIMIT ?",
            (*values, after, limit + 1),
        )
        found = [summary_of(row) for row in rows]
        return Found(found, self._total(wanted, where, values) if count else 0)

    def _total(self, wanted: Wanted, where: str, values: list[Any]) -> int:
        if wanted.only_status:
            counts = self.counts()
            return counts[wanted.status] if wanted.status else sum(counts.values())
        inner = f"SELECT 1 FROM tasks WHERE {where}"
        if wanted.words:
            inner += f" LIMIT {_COUNTED}"
        return int(self.rows(f"SELECT count(*) FROM ({inner}) AS matches", values)[0][0])


def _conditions(wanted: Wanted) -> tuple[str, list[Any]]:
    parts, values = ["true"], list[Any]()

    def need(part: str, *bound: Any) -> None:
        parts.append(part)
        values.extend(bound)

    if wanted.status:
        need("status = ?", wanted.status.value)
    if wanted.priority:
        need("priority = ?", wanted.priority)
    if wanted.due_until:
        need("due_at <= ?", wanted.due_until)
    if wanted.created_after:
        need("created_at > ?", wanted.created_after)
    if wanted.ready_for is not None:
        need("status = 'pending' AND open_blockers = 0")
        need(
            "(claimed_until IS NULL OR claimed_until <= ? OR claimant = ?)",
            wanted.now,
            wanted.ready_for,
        )
    for tag in wanted.tags:
        need("number IN (SELECT number FROM tagged WHERE tag = ?)", tag)
    if wanted.words:
        query = " & ".join(_lexeme(word) for word in wanted.words)
        need("number IN (SELECT number FROM words WHERE words @@ ?::tsquery)", query)
    return " AND ".join(parts), values


def _lexeme(word: str) -> str:
    return f"'{word[:500]}'" + (":*" if len(word) >= SHORTEST_PREFIX else "")


def _psycopg(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def libpq_url(url: str) -> str:
    """Return the URL as libpq takes it: no driver in the scheme, no parameter it does not know."""
    parts = urlsplit(url)
    scheme = "postgresql" if parts.scheme.startswith("postgres") else parts.scheme
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] not in _NOT_LIBPQ])
    return urlunsplit(parts._replace(scheme=scheme, query=query))
