"""SQLite files, through aiosqlite."""

import sqlite3
from contextlib import closing
from functools import partial
from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..errors import Busy, InvalidTask, Refused, TableMissing, TodoError, Unreachable
from .address import SqliteFile
from .database import AUTOCOMMIT, Database

LOCK_WAIT = 5.0
"""Seconds that a write waits for another process's."""


def database(file: SqliteFile) -> Database:
    return Database(
        place=file.place,
        engine=make_engine(file),
        try_out=partial(try_out, file),
        explain=partial(explain, file.place),
        is_sqlite=True,
    )


def make_engine(file: SqliteFile) -> AsyncEngine:
    """Errors of this engine never show the arguments of a statement."""
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(file.path)),
        # SQLite has one writer at a time: a queue in the process is fairer than its polling.
        pool_size=1,
        max_overflow=0,
        pool_timeout=2 * LOCK_WAIT,
        connect_args={"timeout": LOCK_WAIT},
        isolation_level=AUTOCOMMIT,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", _be_durable)
    return engine


def _be_durable(connection: Any, _record: object) -> None:
    # What was answered survives a power cut.
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def try_out(file: SqliteFile) -> None:
    """Open the file once, without a thread of aiosqlite's that would outlive a failure.

    It is made when missing. Readers and the writer do not wait for each other from here on.
    Raises `sqlite3.Error`.
    """
    with closing(sqlite3.connect(file.path, timeout=LOCK_WAIT)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def explain(place: str, error: Exception) -> TodoError | None:
    """What an error of SQLite's means; None for what is a fault of ours."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.Error):
        return None
    # Extended codes hold the primary one in their low byte.
    match getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(place)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CORRUPT:
            return Unreachable(place, str(cause))
        case sqlite3.SQLITE_NOTADB:
            return Unreachable(place, "the file is no SQLite database")
        case sqlite3.SQLITE_CONSTRAINT:
            return InvalidTask("task", f"The table does not take this task: {cause}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_FULL | sqlite3.SQLITE_PERM:
            return Refused(place, str(cause))
        case _:
            return TableMissing(place) if "no such table: tasks" in str(cause) else None
