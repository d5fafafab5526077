"""From an address to a store that serves, and the making of its table."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from .address import Address, SqliteFile
from .database import AsyncSessionLocal, Database
from .postgres import PostgresDatabase
from .records import Keeping, find_records, make_records
from .row_security import must_be_raised
from .sqlite import SqliteDatabase
from .statements import Statements
from .store import NOBODY, Health, TaskStore
from .table import find_table, make_table


@asynccontextmanager
async def open_store(
    address: Address,
    *,
    connect_timeout: float = 5.0,
    statement_timeout: float = 25.0,
    pool_size: int = 10,
    history_days: float = 30,
    undo_days: float = 7,
    row_security: bool = False,
    health: Health = NOBODY,
) -> AsyncIterator[TaskStore]:
    """Connect, look at the tables, serve; an SQLite file and its tables are made when missing.

    Changes and deleted rows are kept for `history_days` and `undo_days`, 0 for not at all, where
    there are tables for them. With `row_security` the database itself must keep users apart. Raises
    `DatabaseUnavailableError` within `connect_timeout` seconds.
    """
    database = _database(address, connect_timeout, statement_timeout, pool_size, row_security)
    async with connected(database, connect_timeout) as connection:
        if database.makes_its_table:
            await connection.run_sync(make_table)
            await connection.run_sync(make_records)
        table = await connection.run_sync(find_table, database.place)
        records = await connection.run_sync(find_records)
        if row_security:
            await connection.run_sync(must_be_raised, database.place)
    keeping = Keeping(records, timedelta(days=history_days), timedelta(days=undo_days))
    async with database.serving():
        store = TaskStore(
            database,
            Statements(table, database.engine.dialect, keeping),
            AsyncSessionLocal(database.engine),
            health,
        )
        try:
            yield store
        finally:
            await store.finish()


async def create_tables(address: Address, *, connect_timeout: float = 5.0) -> bool:
    """Make the table and its indexes; False when there is a fitting table already.

    Raises `DatabaseUnavailableError`.
    """
    database = database_at(address, connect_timeout)
    async with connected(database, connect_timeout) as connection:
        made = await connection.run_sync(make_table)
        await connection.run_sync(find_table, database.place)
        return made


@asynccontextmanager
async def connected(database: Database, limit: float) -> AsyncIterator[AsyncConnection]:
    """A connection to a database that must answer within `limit` seconds."""
    async with database.failures_explained(), asyncio.timeout(limit):
        await database.try_out()
        async with database.engine.begin() as connection:
            yield connection


def database_at(address: Address, connect_timeout: float) -> Database:
    """The database at an address, for a command: its statements may take as long as they take."""
    return _database(address, connect_timeout, statement_timeout=0, pool_size=1)


def _database(
    address: Address,
    connect_timeout: float,
    statement_timeout: float,
    pool_size: int,
    row_security: bool = False,
) -> Database:
    if isinstance(address, SqliteFile):
        return SqliteDatabase(address, statement_timeout=statement_timeout)
    return PostgresDatabase(
        address,
        connect_timeout=connect_timeout,
        statement_timeout=statement_timeout,
        pool_size=pool_size,
        row_security=row_security,
    )
