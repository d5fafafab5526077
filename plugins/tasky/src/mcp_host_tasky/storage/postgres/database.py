"""The PostgreSQL store: one schema for each plan, for more than one machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql as names

from ...errors import BusyError, InvalidError, StoppedError, UnreachableError
from ..sql import (
    LAST_EVENT,
    LAST_NUMBER,
    Drawings,
    KeptTexts,
    SqlView,
    damaged_rows,
    make_part,
    miscounted,
    misdrawn,
)
from ..store import Guard, contradictory, no_guard
from . import by_bitmaps
from .preparing import prepare
from .view import PostgresView

_WORDED_TOGETHER = 4_000
"""After so many tasks with other words the index takes them in among writes: half of its list, of
16 MB, with long texts among them."""
_STATEMENT_MS = 30_000
_KNOWS_JIT = 110_000
_WORK_MEMORY: LiteralString = "32MB"
"""So much a statement may remember of what it finds, in an index or to be sorted."""
_CLOCK: LiteralString = "SELECT clock_timestamp()"
_CLOCK_AND_LAST: LiteralString = f"{_CLOCK}, ({LAST_EVENT}), ({LAST_NUMBER})"
"""What a write begins with: each question of its own costs it a hundredth of its time."""
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
        self._untidy = 1
        """How many tasks got other words since the index of words last took in its list; at first
        another process may have left some."""
        self._drawings = Drawings()
        self._texts = KeptTexts()

    def open(self) -> "Postgres":
        """Connect, and make the plan's schema where there is none."""
        self._prepare()
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[PostgresView]:
        guard()
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", _CLOCK) as view:
            yield view

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        # The row is the plan's turnstile: numbers, event ids and cycle checks need one writer.
        turnstile = "SELECT version FROM format FOR UPDATE"
        begin: LiteralString = "BEGIN ISOLATION LEVEL READ COMMITTED"
        with self._transaction(begin, turnstile, _CLOCK_AND_LAST) as view:
            yield view
            guard()
        self._untidy += view.worded

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Have the index of words take in what waits in its list, so that no write has to, and no
        search reads through it. That takes a second, of a short list as well as of a long one:
        where others write on, it is done for many at once."""
        if self._untidy and (is_pause or self._untidy >= _WORDED_TOGETHER):
            self._take_in()
        return make_part(self, by_bitmaps.FREQUENT, self._go_on, is_pause=is_pause)

    def _take_in(self) -> None:
        self._untidy = 0
        index = names.Identifier(self._schema, "words_index").as_string()
        # Only who made the plan may do so; others leave it to that one, or to a full list.
        with self._connection() as connection, suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT gin_clean_pending_list(%s::regclass)", (index,))

    def _go_on(self) -> None:
        if self._closed:
            raise StoppedError("The plan is closed.", reason="stopped")

    def check(self) -> list[str]:
        """Say what is miscounted; the server looks after its own files."""
        with self.read() as view:
            return [
                *miscounted(view),
                *damaged_rows(view),
                *view.misplaced(),
                *misdrawn(view),
            ]

    def copied_whole(self, path: Path) -> bool:
        """Say that there is no SQLite file to be copied."""
        return False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: LiteralString, *then: LiteralString) -> Iterator[PostgresView]:
        with self._connection() as connection:
            try:
                # One message to the server, not one for each: it may be far away. Its clock is
                # read last, when a write's turn has come.
                opening = names.SQL("; ").join(self._opening(connection, begin, *then))
                told = connection.execute(opening).set_result(-1).fetchone()
                assert told
                now, *last = told
                yield PostgresView(
                    connection, now, *last, drawings=self._drawings, texts=self._texts
                )
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
        # With the 4 MB that PostgreSQL gives by itself, what begins alike in more than 60,000 tasks
        # is remembered by pages, and every text of these is read again.
        yield names.SQL("SET LOCAL work_mem TO {}").format(_WORK_MEMORY)
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
            prepare(connection, self._schema)


def libpq_url(url: str) -> str:
    """Return the URL as libpq takes it: no driver in the scheme, no parameter it does not know."""
    parts = urlsplit(url)
    scheme = "postgresql" if parts.scheme.startswith("postgres") else parts.scheme
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] not in _NOT_LIBPQ])
    return urlunsplit(parts._replace(scheme=scheme, query=query))
