"""From an address to a store that serves, and the making of its table."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection, async_sessionmaker

from .address import Address, SqliteFile
from .database import Database
from .store import NOBODY, Health, TaskStore
from .table import find_table, make_table


@asynccontextmanager
async def open_store(
    address: Address,
    *,
    connect_timeout: float = 5.0,
    pool_size: int = 10,
    health: Health = NOBODY,
) -> AsyncIterator[TaskStore]:
    """Connect, look at the table, serve; an SQLite file and its table are made when missing.

    Raises `DatabaseUnavailable` within `connect_timeout` seconds.
    """
    found = _database(address, connect_timeout, pool_size)
    try:
        async with _connected(found, connect_timeout) as connection:
            if found.is_sqlite:
                await connection.run_sync(make_table)
            table = await connection.run_sync(find_table, found.place)
        AsyncSessionLocal = async_sessionmaker(found.engine)
        store = TaskStore(AsyncSessionLocal, table, found, health)
        try:
            yield store
        finally:
            await store.finish()
    finally:
        await found.engine.dispose()


async def create_tables(address: Address, *, connect_timeout: float = 5.0) -> bool:
    """Make the table and its indexes; False when there is a fitting table already.

    Raises `DatabaseUnavailable`.
    """
    found = _database(address, connect_timeout, pool_size=1)
    try:
        async with _connected(found, connect_timeout) as connection:
            made = await connection.run_sync(make_table)
            await connection.run_sync(find_table, found.place)
            return made
    finally:
        await found.engine.dispose()


@asynccontextmanager
async def _connected(found: Database, limit: float) -> AsyncIterator[AsyncConnection]:
    """A connection to a database that must answer within `limit` seconds."""
    with found.failures_explained():
        async with asyncio.timeout(limit):
            await asyncio.to_thread(found.try_out)
            async with found.engine.begin() as connection:
                yield connection


def _database(address: Address, connect_timeout: float, pool_size: int) -> Database:
    """The database at an address. Each kind's driver is imported by those alone who use it."""
    if isinstance(address, SqliteFile):
        from . import sqlite

        return sqlite.database(address)
    from . import postgres

    return postgres.database(address, connect_timeout, pool_size)
