"""SQLite files, through the standard library's driver, each connection in a thread of its own."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from typing import Any

from sqlalchemy import URL, NullPool, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..errors import (
    ConnectionLostError,
    DatabaseBusyError,
    DatabaseRefusedError,
    DatabaseUnreachableError,
    InvalidTaskError,
    OwnTableMissingError,
    RequestKeyTakenError,
    TableMissingError,
    TodoError,
)
from .address import SqliteFile
from .records import KEYS, own_table_in
from .statement import Row, Statement
from .turns import Turns

OPENING_WAIT = 5.0
"""Seconds that whoever opens or looks at a file waits for another process's write."""


class SqliteDatabase:
    """An SQLite file. Those who read do not wait for the one who writes."""

    makes_its_table = True
    row_security = False

    def __init__(self, file: SqliteFile, *, statement_timeout: float) -> None:
        self.place = file.place
        self._file = file
        self._reader = Lane(file, statement_timeout)
        self._writer = Lane(file, statement_timeout)
        self.engine = make_engine(file)

    async def try_out(self) -> None:
        """Open the file once; it is made when missing."""
        await asyncio.to_thread(try_out, self._file)

    @asynccontextmanager
    async def failures_explained(self) -> AsyncIterator[None]:
        try:
            yield
        except TodoError:
            raise
        except TimeoutError as error:
            raise DatabaseUnreachableError(self.place, "it did not answer in time") from error
        except Exception as error:
            explained = explain(self.place, error)
            if explained is None:
                raise
            raise explained from error

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._reader.close()
            await self._writer.close()

    async def run(
        self, statement: Statement, values: Mapping[str, object], _user_id: str | None = None
    ) -> Sequence[Row]:
        lane = self._reader if statement.only_reads else self._writer
        async with self.failures_explained():
            return await lane.run(statement, values)


class Lane:
    """One connection and the thread that it lives in; it is made when first used.

    Statements run one after another: SQLite has one writer at a time, and a queue in the process
    is fairer than its polling.
    """

    def __init__(self, file: SqliteFile, wait: float) -> None:
        self._file = file
        self._wait = wait
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="todo-db-sqlite")
        self._turns = Turns()
        self._connection: sqlite3.Connection | None = None

    async def run(self, statement: Statement, values: Mapping[str, object]) -> Sequence[Row]:
        return await self._turns.run(lambda: self._in_thread(statement, values))

    async def close(self) -> None:
        """Wait for what has begun, and close the file."""
        await self._turns.finish()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, statement: Statement, values: Mapping[str, object]) -> Sequence[Row]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._fetch, statement, values)

    def _fetch(self, statement: Statement, values: Mapping[str, object]) -> Sequence[Row]:
        if self._connection is None:
            self._connection = connect(self._file, self._wait)
        connection = self._connection
        if not (statement.before or statement.after):
            return fetch(connection, statement, values)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for one in statement.before:
                connection.execute(one.sql, one.arguments(values))
            rows = fetch(connection, statement, values)
            for one in statement.after:
                connection.execute(one.sql, one.arguments(values))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return rows

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def fetch(
    connection: sqlite3.Connection, statement: Statement, values: Mapping[str, object]
) -> Sequence[Row]:
    return connection.execute(statement.sql, statement.arguments(values)).fetchall()


def connect(file: SqliteFile, wait: float) -> sqlite3.Connection:
    """Connect to a file; every statement is a transaction of its own.

    A statement waits `wait` seconds for another process's write. SQLite asks again and again and
    keeps no line, so that one of many writers may have bad luck for several seconds.
    Raises `sqlite3.Error`.
    """
    connection = sqlite3.connect(file.path, timeout=wait, isolation_level=None)
    be_durable(connection)
    return connection


def make_engine(file: SqliteFile) -> AsyncEngine:
    """Errors of this engine never show the arguments of a statement."""
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(file.path)),
        poolclass=NullPool,
        connect_args={"timeout": OPENING_WAIT},
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", lambda connection, _: be_durable(connection))
    return engine


def be_durable(connection: Any) -> None:
    """Let what was answered survive a power cut."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def try_out(file: SqliteFile) -> None:
    """Open the file once, without a thread of aiosqlite's that would outlive a failure.

    It is made when missing. Readers and the writer do not wait for each other from here on.
    Raises `sqlite3.Error`.
    """
    with closing(
        sqlite3.connect(file.path, timeout=OPENING_WAIT, isolation_level=None)
    ) as connection:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # SQLite does not wait here for whoever does the same. For their transaction it does.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            connection.execute("PRAGMA journal_mode = WAL")


def explain(place: str, error: Exception) -> TodoError | None:
    """What an error of SQLite's means; None for what is a fault of ours."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.Error):
        return None
    # Extended codes hold the primary one in their low byte.
    match getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return DatabaseBusyError(place)
        case sqlite3.SQLITE_IOERR:
            return ConnectionLostError(place, str(cause), sent=True)
        case sqlite3.SQLITE_CANTOPEN:
            return DatabaseUnreachableError(place, str(cause))
        case sqlite3.SQLITE_NOTADB:
            return DatabaseUnreachableError(place, "the file is no SQLite database")
        case sqlite3.SQLITE_CORRUPT:
            return DatabaseRefusedError(place, str(cause), "Bring that file back from a backup")
        case sqlite3.SQLITE_CONSTRAINT if f"{KEYS}." in str(cause):
            return RequestKeyTakenError()
        case sqlite3.SQLITE_CONSTRAINT:
            return InvalidTaskError("task", f"The table does not take this task: {cause}")
        case sqlite3.SQLITE_FULL:
            return DatabaseRefusedError(place, str(cause), "Make room on the disk of that file")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return DatabaseRefusedError(
                place, str(cause), "Let the server's user write to that file and its folder"
            )
        case _:
            return _missing(place, str(cause)) if "no such table: " in str(cause) else None


def _missing(place: str, message: str) -> TodoError | None:
    own = own_table_in(message)
    if own is not None:
        return OwnTableMissingError(place, own)
    return TableMissingError(place) if "no such table: tasks" in message else None
