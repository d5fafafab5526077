"""Bringing a database to the version that this pack writes, with Alembic.

Alembic takes longer to load than the rest of the pack: commands import this module, serving does
not.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from .address import Address
from .opening import connected, database_at
from .records import VERSION, VERSION_TABLE
from .row_security import is_raised, raise_wall
from .table import find_table, missing_indexes

SCRIPTS = Path(__file__).parent / "migrations"
LOCK = 8_370_411_212_026
"""The key of the advisory lock behind which one program at a time migrates."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a database is: `version` is None before the first migration.

    `has_table` says whether there are tasks at all; `missing_indexes` are the statements that make
    what pages are read by. `has_wall` says whether row-level security is forced on the tasks.
    """

    version: str | None
    has_table: bool
    missing_indexes: tuple[str, ...]
    has_wall: bool

    @property
    def is_due(self) -> bool:
        """There is a newer version to migrate to."""
        return self.version != VERSION


async def migrate(
    address: Address,
    *,
    connect_timeout: float = 5.0,
    row_security: Literal["leave", "keep", "force"] = "leave",
) -> Standing:
    """Make the newest version of all tables from whatever is there; return how it stood before.

    Row-level security is left as it is; kept on every table where `tasks` is made here or has it;
    or forced on what is there.
    Everything happens in one transaction, and of several at the same time one migrates. Raises
    `DatabaseUnavailableError`, and `DatabaseBusyError` where another one takes long.
    """
    database = database_at(address, connect_timeout)
    async with database.failures_explained(), asyncio.timeout(connect_timeout) as scope:
        await database.try_out()
        async with database.engine.begin() as connection:
            scope.reschedule(None)  # what follows may take as long as it takes
            before = await connection.run_sync(_locked_standing)
            if before.has_table:
                await connection.run_sync(find_table, database.place)  # nothing beside one unfit
            await connection.run_sync(_upgrade)
            if row_security == "force" or (
                row_security == "keep" and (before.has_wall or not before.has_table)
            ):
                await connection.run_sync(raise_wall, database.place)
            return before


async def standing(address: Address, *, connect_timeout: float = 5.0) -> Standing:
    """How far the database is. Raises `DatabaseUnavailableError`."""
    async with connected(database_at(address, connect_timeout), connect_timeout) as connection:
        return await connection.run_sync(_standing)


def _locked_standing(connection: Connection) -> Standing:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins with the first change
    return _standing(connection)


def _standing(connection: Connection) -> Standing:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    has_table = inspect(connection).has_table("tasks")
    return Standing(
        version=context.get_current_revision(),
        has_table=has_table,
        missing_indexes=missing_indexes(connection) if has_table else (),
        has_wall=connection.dialect.name == "postgresql" and is_raised(connection),
    )


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
