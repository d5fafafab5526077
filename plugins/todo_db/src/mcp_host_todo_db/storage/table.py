"""The table `tasks`: as this pack makes it, and as it finds it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Index,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    inspect,
)
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import CHAR, TypeDecorator, TypeEngine

from ..errors import TableMissingError, TableUnfitError
from ..model import MAX_TITLE, MAX_USER_ID

COLUMNS = ("id", "user_id", "title", "description", "is_completed", "created_at", "updated_at")


class UtcTime(TypeDecorator[datetime]):
    """Aware times in UTC, in columns with a time zone and in those without."""

    impl = DateTime
    cache_ok = True

    def __init__(self, timezone: bool) -> None:
        super().__init__(timezone=timezone)
        self.timezone = timezone

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None or self.timezone else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def make_table(connection: Connection) -> bool:
    """Make the table and its indexes unless there is one; True when it was made here."""
    if inspect(connection).has_table("tasks"):
        return False
    native = connection.dialect.name == "postgresql"
    table = _table(
        id=Uuid(as_uuid=False) if native else String(36),
        user_id=String(MAX_USER_ID),
        created_at=UtcTime(timezone=native),
        updated_at=UtcTime(timezone=native),
    )
    connection.execute(CreateTable(table, if_not_exists=True))
    for index in _indexes(table):
        connection.execute(CreateIndex(index, if_not_exists=True))
    return True


def missing_indexes(connection: Connection) -> tuple[str, ...]:
    """The statements that make the indexes which pages are read by, where no other serves."""
    found = [index["column_names"] for index in inspect(connection).get_indexes("tasks")]
    table = _table(
        id=String(), user_id=String(), created_at=UtcTime(True), updated_at=UtcTime(True)
    )
    return tuple(
        str(CreateIndex(index).compile(dialect=connection.dialect))
        for index in _indexes(table)
        if not any(_serves(columns, [column.name for column in index.columns]) for columns in found)
    )


def _serves(columns: Sequence[str | None], wanted: Sequence[str]) -> bool:
    """An index without the id at its end serves nearly as well."""
    return list(columns[: len(wanted) - 1]) == list(wanted[:-1])


def _indexes(table: Table) -> tuple[Index, Index]:
    """The orders in which pages are read: a user's tasks, and those in one state."""
    columns = table.c
    order = (columns.created_at, columns.id)
    return (
        Index("tasks_of_user", columns.user_id, *order),
        Index("tasks_of_user_by_state", columns.user_id, columns.is_completed, *order),
    )


def find_table(connection: Connection, place: str) -> Table:
    """The table as it is, whoever made it.

    Raises `TableMissingError`, and `TableUnfitError` when a task does not fit into it.
    """
    inspector = inspect(connection)
    if not inspector.has_table("tasks"):
        raise TableMissingError(place)
    found = {column["name"]: column for column in inspector.get_columns("tasks")}
    for name in COLUMNS:
        if name not in found:
            raise TableUnfitError(place, f"it has no column {name}")
    if not found["description"]["nullable"]:
        raise TableUnfitError(place, "its column description must allow null")
    for name, column in found.items():
        if name not in COLUMNS and _must_be_given(column):
            raise TableUnfitError(place, f"its column {name} needs a value and has no default")
    return _table(
        id=_key_type(found["id"]["type"]),
        user_id=_key_type(found["user_id"]["type"]),
        created_at=_time_type(found["created_at"]["type"]),
        updated_at=_time_type(found["updated_at"]["type"]),
    )


def _table(
    *,
    id: TypeEngine[Any],
    user_id: TypeEngine[Any],
    created_at: UtcTime,
    updated_at: UtcTime,
) -> Table:
    return Table(
        "tasks",
        MetaData(),
        Column("id", id, primary_key=True),
        Column("user_id", user_id, nullable=False),
        Column("title", String(MAX_TITLE), nullable=False),
        Column("description", Text),
        Column("is_completed", Boolean, nullable=False),
        Column("created_at", created_at, nullable=False),
        Column("updated_at", updated_at, nullable=False),
    )


def _must_be_given(column: ReflectedColumn) -> bool:
    made_by_database = column.get("default") or column.get("computed") or column.get("identity")
    return not column["nullable"] and not made_by_database


def _key_type(found: TypeEngine[Any]) -> TypeEngine[Any]:
    """UUIDs travel as text here, however the column keeps them."""
    if isinstance(found, Uuid):
        return Uuid(as_uuid=False)
    if isinstance(found, CHAR) and found.length == 32:
        return Uuid(as_uuid=False, native_uuid=False)
    return String()


def _time_type(found: TypeEngine[Any]) -> UtcTime:
    return UtcTime(timezone=bool(getattr(found, "timezone", False)))
