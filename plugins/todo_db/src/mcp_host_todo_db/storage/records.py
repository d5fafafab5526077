"""The pack's own tables beside `tasks`: what was changed, and what was deleted a while ago."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
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

from ..model import MAX_KEY, MAX_TITLE, MAX_USER_ID, TaskRead
from .table import UtcTime

VERSION_TABLE = "todo_db_version"
HISTORY, DELETED, KEYS = "todo_history", "todo_deleted", "todo_keys"
VERSION = "0002"
"""The version of these tables that this code writes; the newest migration."""


@dataclass(frozen=True, slots=True)
class Records:
    """The pack's own tables.

    `history` has a row for each change: `action` is added, completed, reopened, updated, deleted
    or restored, `fields` what an update gave, `title` the title afterwards and `actor` the known
    caller. `deleted` has the rows that left `tasks`, as they were. `keys` has, for each key of a
    user's, the digest of what was asked with it and the task that was answered; databases of
    version 0001 are without it.
    """

    history: Table
    deleted: Table
    keys: Table | None


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept beside `tasks`, and how long; nothing where there are no tables for it."""

    records: Records | None = None
    history: timedelta = timedelta(0)
    undo: timedelta = timedelta(0)
    requests: timedelta = timedelta(days=7)

    @property
    def changes(self) -> Table | None:
        """The table of changes, where they are kept."""
        return self.records.history if self.records and self.history else None

    @property
    def rows(self) -> Table | None:
        """The table of deleted rows, where they are kept."""
        return self.records.deleted if self.records and self.undo else None

    @property
    def keys(self) -> Table | None:
        """The table of request keys."""
        return self.records.keys if self.records else None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request with a key asked for, when, and the task that was its answer."""

    body: str
    at: datetime
    task: TaskRead


def records(*, native: bool) -> Records:
    """Describe the tables as PostgreSQL has them (`native`), or as SQLite does."""
    metadata = MetaData()
    # SQLite counts up by itself in a column of exactly this type.
    number: Any = BigInteger() if native else Integer()
    history = Table(
        HISTORY,
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
        DELETED,
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
    keys = Table(
        KEYS,
        metadata,
        Column("user_id", String(MAX_USER_ID), primary_key=True),
        Column("request_key", String(MAX_KEY), primary_key=True),
        Column("body", String(64), nullable=False),
        Column("at", UtcTime(timezone=native), nullable=False),
        Column("task_id", String(36), nullable=False),
        Column("title", String(MAX_TITLE), nullable=False),
        Column("description", Text),
        Column("is_completed", Boolean, nullable=False),
        Column("created_at", UtcTime(timezone=native), nullable=False),
    )
    Index("todo_history_of_user", history.c.user_id, history.c.number)
    Index("todo_history_by_age", history.c.at)
    Index("todo_deleted_of_user", deleted.c.user_id, deleted.c.task_id)
    Index("todo_deleted_by_age", deleted.c.at)
    Index("todo_keys_by_age", keys.c.at)
    return Records(history, deleted, keys)


def find_records(connection: Connection) -> Records | None:
    """The tables, where a migration has made them."""
    inspector = inspect(connection)
    if not (inspector.has_table(HISTORY) and inspector.has_table(DELETED)):
        return None
    made = records(native=connection.dialect.name == "postgresql")
    return made if inspector.has_table(KEYS) else replace(made, keys=None)


def make_records(connection: Connection) -> None:
    """Make the tables that are missing and note their version; a newer version stays as it is."""
    version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))
    connection.execute(CreateTable(version, if_not_exists=True))
    found = connection.execute(version.select()).scalar()
    if found is not None and found >= VERSION:
        return
    made = records(native=connection.dialect.name == "postgresql")
    for table in made.history.metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))
    connection.execute(version.delete())
    connection.execute(version.insert().values(version_num=VERSION))


def own_table_in(message: str) -> str | None:
    """The one of these tables that a database's message names; None where it names none."""
    return next((name for name in (HISTORY, DELETED, KEYS) if name in message), None)
