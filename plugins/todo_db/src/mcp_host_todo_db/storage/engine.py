"""SQLAlchemy engines for the two kinds of database."""

import asyncio
import sqlite3
import uuid
from contextlib import closing
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from .address import Address, PostgresServer, SqliteFile

AUTOCOMMIT = "AUTOCOMMIT"
"""Every change is one statement: the database's own transaction around it is enough, and saves
the round trips of BEGIN and COMMIT."""

SQLITE_LOCK_WAIT = 5.0
"""Seconds that a write waits for another process's."""


def make_engine(address: Address, connect_timeout: float, pool_size: int) -> AsyncEngine:
    """An engine that has not connected yet; its errors never show arguments of a statement."""
    if isinstance(address, SqliteFile):
        return _sqlite(address)
    return _postgres(address, connect_timeout, pool_size)


def _sqlite(file: SqliteFile) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(file.path)),
        # SQLite has one writer at a time: a queue in the process is fairer than its polling.
        pool_size=1,
        max_overflow=0,
        pool_timeout=2 * SQLITE_LOCK_WAIT,
        connect_args={"timeout": SQLITE_LOCK_WAIT},
        isolation_level=AUTOCOMMIT,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # What was answered survives a power cut.
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def try_sqlite(file: SqliteFile) -> None:
    """Open the file once, without a thread of aiosqlite's that would outlive a failure.

    It is made when missing. Readers and the writer do not wait for each other from here on.
    Raises `sqlite3.Error`.
    """
    with closing(sqlite3.connect(file.path, timeout=SQLITE_LOCK_WAIT)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def _postgres(server: PostgresServer, connect_timeout: float, pool_size: int) -> AsyncEngine:
    pooled = server.transaction_pooler
    timeout = server.connect_timeout or connect_timeout

    async def connect() -> Any:
        # asyncpg reads the URL itself: SQLAlchemy would hand on `sslmode` as an argument,
        # which asyncpg refuses.
        async with asyncio.timeout(timeout):
            return await asyncpg.connect(
                server.dsn,
                user=server.user,
                password=server.password,
                ssl=server.tls,
                statement_cache_size=0 if pooled else 100,
            )

    connect_args: dict[str, Any] = {"async_creator_fn": connect}
    if pooled:
        connect_args["prepared_statement_cache_size"] = 0
        connect_args["prepared_statement_name_func"] = lambda: f"todo_{uuid.uuid4()}"
    return create_async_engine(
        "postgresql+asyncpg://",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=timeout,
        # Hosted databases fall asleep and drop connections that rest.
        pool_pre_ping=True,
        connect_args=connect_args,
        # A pooler stays on one connection inside a transaction only.
        isolation_level="READ COMMITTED" if pooled else AUTOCOMMIT,
        hide_parameters=True,
    )
