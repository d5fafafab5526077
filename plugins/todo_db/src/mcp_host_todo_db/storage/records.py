"""The pack's own tables beside `tasks`: what was changed, and what was deleted a while ago."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from ..model import MAX_TITLE, MAX_USER_ID
from .table import UtcTime

VERSION_TABLE = "todo_db_version"
VERSION = "0001"
"""The version of these tables that this code writes; the newest migration."""


@dataclass(frozen=True, slots=True)
class Records:
    """The two tables.

    `history` has a row for each change: `action` is added, completed, reopened, updated, deleted
    or restored, `fields` what an update gave, `title` the title afterwards and `actor` the known
    caller. `deleted` has the rows that left `tasks`, as they were.
    """

    history: Table
    deleted: Table


def records(*, native: bool) -> Records:
    """Describe the tables as PostgreSQL has them (`native`), or as SQLite does."""
    metadata = MetaData()
    # SQLite counts up by itself in a column of exactly this type.
    number: Any = BigInteger() if native else Integer()
    history = Table(
        "todo_history",
        metadata,
        Column("number", number, primary_key=True, autoincrement=True),
        Column("user_id", String(MAX_USER_ID), nullable=False),
        Column("task_id", String(36), nullable=False),
        Column("at", UtcTime(timezone=native), nullable=False),
        Column("action", String(16), nullable=False),
        Column("fields", String(32)),
        Column("title", String(MAX_TITLE), nullable=False),
        Column("actor", String(MAX_USER_ID)),
    )
    deleted = Table(
        "todo_deleted",
        metadata,
        Column("number", number, primary_key=True, autoincrement=True),
        Column("at", UtcTime(timezone=native), nullable=False),
        Column("task_id", String(36), nullable=False),
        Column("user_id", String(MAX_USER_ID), nullable=False),
        Column("title", String(MAX_TITLE), nullable=False),
        Column("description", Text),
        Column("is_completed", Boolean, nullable=False),
        Column("created_at", UtcTime(timezone=native), nullable=False),
    )
    Index("todo_history_of_user", history.c.user_id, history.c.number)
    Index("todo_history_by_age", history.c.at)
    Index("todo_deleted_of_user", deleted.c.user_id, deleted.c.task_id)
    Index("todo_deleted_by_age", deleted.c.at)
    return Records(history, deleted)


def find_records(connection: Connection) -> Records | None:
    """The tables, where a migration has made them."""
    inspector = inspect(connection)
    if not (inspector.has_table("todo_history") and inspector.has_table("todo_deleted")):
        return None
    return records(native=connection.dialect.name == "postgresql")


def make_records(connection: Connection) -> None:
    """Make the tables and note their version, unless a version of them is there."""
    if inspect(connection).has_table(VERSION_TABLE):
        return
    made = records(native=connection.dialect.name == "postgresql")
    for table in (made.history, made.deleted):
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))
    version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))
    connection.execute(CreateTable(version, if_not_exists=True))
    connection.execute(version.insert().values(version_num=VERSION))
