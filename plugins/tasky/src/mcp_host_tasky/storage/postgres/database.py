"""The PostgreSQL store: one schema for each plan, for more than one machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql as names

from ...errors import BusyError, InvalidError, UnavailableError, UnreachableError
from ..readiness import hold_up_all
from ..sql import STEPS, TABLES, VERSION, SqlView, damaged_rows, miscounted, steps_from
from ..store import WRITES_TOGETHER, Guard, contradictory, no_guard
from .view import PostgresView

_STATEMENT_MS = 30_000
_KNOWS_JIT = 110_000
_CLOCK: LiteralString = "SELECT clock_timestamp()"
_TEXT = 'TEXT COLLATE "C"'
_WORDS = """
CREATE TABLE words (number BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX words_index ON words USING gin (words);
CREATE TABLE format (version INTEGER NOT NULL);
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
"""
# The order and the status of many tasks are looked up by their numbers, or where they have a date:
# so no row is read for it.
_COVERING = """
ALTER TABLE tasks DROP CONSTRAINT tasks_pkey,
    ADD PRIMARY KEY (number) INCLUDE (sort_key, status);
DROP INDEX tasks_created, tasks_due;
CREATE INDEX tasks_created ON tasks (created_at) INCLUDE (sort_key, status);
CREATE INDEX tasks_due ON tasks (due_at) INCLUDE (sort_key, status) WHERE due_at IS NOT NULL;
"""
# An index answers alone only for pages of the table that were not written since they were vacuumed.
# PostgreSQL waits for a fifth of all tasks, which changes of a twentieth make of most pages.
_OFTEN_VACUUMED = """
ALTER TABLE tasks SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE tagged SET (autovacuum_vacuum_scale_factor = 0.02);
"""
# A change writes a task's row anew. Where its page has room for that, and nothing changed that an
# index has, no index is told: a bulk of 50 names takes a sixth of the time. A full page sends the
# row elsewhere, and each of the indexes has to follow.
_ROOM = """
ALTER TABLE tasks SET (fillfactor = 80);
"""
# New words stand in a list until the index takes them in, all at once. A write that finds the list
# full does that, for a second: `tidy` does it before, and the list may be longer than the 4 MB that
# PostgreSQL allows by itself.
_LONGER_LIST = """
ALTER INDEX words_index SET (gin_pending_list_limit = 16384);
"""
# Before format 5 the words that tasks have were known only to the index.
_TO_FORMAT_5 = """
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
INSERT INTO vocabulary
    SELECT word FROM ts_stat('SELECT words FROM words') WHERE NOT starts_with(word, '·');
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
        self._untidy = 0
        """How many writes followed the last time that the index of words took in its list."""

    def open(self) -> "Postgres":
        """Connect, and make the plan's schema where there is none."""
        self._prepare()
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as view:
            yield view

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        # The row is the plan's turnstile: numbers, event ids and cycle checks need one writer.
        turnstile = "SELECT version FROM format FOR UPDATE"
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", turnstile) as view:
            yield view
            guard()
        self._untidy += 1

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Have the index of words take in what waits in its list, so that no write has to, and no
        search reads through it."""
        if not self._untidy or not (is_pause or self._untidy >= WRITES_TOGETHER):
            return False
        self._untidy = 0
        index = names.Identifier(self._schema, "words_index").as_string()
        # Only who made the plan may do so; others leave it to that one, or to a full list.
        with self._connection() as connection, suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT gin_clean_pending_list(%s::regclass)", (index,))
        return False

    def check(self) -> list[str]:
        """Say what is miscounted; the server looks after its own files."""
        with self.read() as view:
            return [*miscounted(view), *damaged_rows(view)]

    def copied_whole(self, path: Path) -> bool:
        """Say that there is no SQLite file to be copied."""
        return False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: LiteralString, *then: LiteralString) -> Iterator["PostgresView"]:
        with self._connection() as connection:
            try:
                # One message to the server, not one for each: it may be far away. Its clock is
                # read last, when a write's turn has come.
                opening = [*self._opening(connection, begin, *then), names.SQL(_CLOCK)]
                told = connection.execute(names.SQL("; ").join(opening)).set_result(-1).fetchone()
                assert told
                yield PostgresView(connection, told[0])
                self._commit(connection)
            except UnreachableError:
                raise
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    def _commit(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.OperationalError as error:  # it may have been done, or not
            raise UnreachableError(sent=True) from error

    def _opening(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        begin: LiteralString,
        *then: LiteralString,
    ) -> Iterator[names.Composable]:
        """Return what a transaction begins with. The settings are its own, since a pooler may give
        the session to somebody else after it."""
        yield names.SQL(begin)
        yield names.SQL("SET LOCAL search_path TO {}").format(names.Identifier(self._schema))
        yield names.SQL("SET LOCAL statement_timeout TO {}").format(_STATEMENT_MS)
        if connection.info.server_version >= _KNOWS_JIT:
            # To compile a search takes longer than to run it.
            yield names.SQL("SET LOCAL jit TO off")
        # What is not in the database's own buffers is mostly in the system's: to ask others to read
        # it ahead takes longer than to read it.
        yield names.SQL("SET LOCAL effective_io_concurrency TO 0")
        # To read all texts is what the planner prefers for words that one task in ten has.
        yield names.SQL("SET LOCAL enable_seqscan TO off")
        yield from map(names.SQL, then)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        try:
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)
        except psycopg.errors.QueryCanceled as error:
            raise BusyError(
                "The database did not answer in time.",
                reason="store_busy",
                suggestions=["Try again."],
            ) from error
        except psycopg.IntegrityError as error:
            raise contradictory() from error
        except psycopg.ProgrammingError as error:
            if error.sqlstate is not None:
                raise
            # The driver's words may hold a part of the password.
            raise InvalidError(
                "The plan's PostgreSQL URL is not well formed.",
                reason="bad_url",
                suggestions=[
                    "Write postgresql://user:password@host:5432/name, with %20 for spaces."
                ],
            ) from None
        except psycopg.OperationalError as error:
            # The driver's words name host and user, and may come to hold more: not passed on.
            raise UnreachableError(sent=False) from error

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
            schema = names.Identifier(self._schema)
            if found:
                self._upgrade(connection, schema)
                return
            connection.execute(names.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute("SELECT set_config('search_path', %s, true)", (self._schema,))
            tables = TABLES + _WORDS + _ROOM + _COVERING + _LONGER_LIST + _OFTEN_VACUUMED
            connection.execute(tables.format(text=_TEXT).encode())
            connection.execute("INSERT INTO format VALUES (%s)", (VERSION,))

    def _upgrade(
        self, connection: psycopg.Connection[tuple[Any, ...]], schema: names.Identifier
    ) -> None:
        """Bring a plan of an older format up to this one's; a newer one is refused."""
        row = connection.execute(
            names.SQL("SELECT version FROM {}.format").format(schema)
        ).fetchone()
        version = row[0] if row else None
        if version in STEPS:
            connection.execute("SELECT set_config('search_path', %s, true)", (self._schema,))
            words = _TO_FORMAT_5 if version < 5 else ""
            steps = steps_from(version) + words + _ROOM + _COVERING + _LONGER_LIST + _OFTEN_VACUUMED
            connection.execute(steps.format(text=_TEXT).encode())
            hold_up_all(PostgresView(connection, datetime.now(UTC)))
            connection.execute("UPDATE format SET version = %s", (VERSION,))
        elif version != VERSION:
            raise UnavailableError(
                f"The plan's database has format {version}; this Tasky reads {VERSION}.",
                reason="newer_store",
                suggestions=["Upgrade mcp-host-tasky."],
            )


def libpq_url(url: str) -> str:
    """Return the URL as libpq takes it: no driver in the scheme, no parameter it does not know."""
    parts = urlsplit(url)
    scheme = "postgresql" if parts.scheme.startswith("postgres") else parts.scheme
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] not in _NOT_LIBPQ])
    return urlunsplit(parts._replace(scheme=scheme, query=query))
