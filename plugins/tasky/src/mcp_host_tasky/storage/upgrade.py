"""Reading what the existing Tasky wrote: its JSON file 1.0 and its SQLite file of version 1."""

import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from ..errors import UnavailableError
from ..model import NO_DETAILS, Status, Task
from ..model.dates import micros
from .store import Changes

_OLD = ("task_id", "name", "details", "status", "created_at", "updated_at")


class _Keeper(Protocol):
    def apply(self, changes: Changes) -> None: ...


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy beside the original, named after the format that it holds, never written over."""

    original: Path
    version: str

    def path(self) -> Path:
        base = self.original.with_name(f"{self.original.name}.v{self.version}.bak")
        number = 1
        while base.exists():
            number += 1
            base = self.original.with_name(f"{self.original.name}.v{self.version}.{number}.bak")
        return base

    def copy(self) -> Path:
        return Path(shutil.copy2(self.original, self.path()))

    def copy_database(self) -> None:
        """Copy by a connection of its own: it sees what was committed, the WAL included."""
        with closing(sqlite3.connect(self.original)) as source:
            source.execute("VACUUM INTO ?", (str(self.path()),))


def old_tasks(rows: Iterable[Mapping[str, object]], place: str) -> list[Task]:
    """Turn the six old fields into tasks, in the order of their creation."""
    try:
        read = [_old_task(row) for row in rows]
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise UnavailableError(
            f"{place} holds a task that cannot be read ({error}); it was left as it is.",
            reason="corrupt_store",
        ) from error
    read.sort(key=lambda task: task.created_at)
    return [replace(task, number=number) for number, task in enumerate(read, 1)]


def _old_task(row: Mapping[str, object]) -> Task:
    task_id, name, details, status, created, updated = (row[field] for field in _OLD)
    if not isinstance(task_id, str) or not isinstance(name, str):
        raise TypeError("task_id and name are text")
    return Task(
        task_id=task_id,
        number=0,
        name=name,
        details=str(details) if details else NO_DETAILS,
        status=Status(str(status)),
        created_at=old_time(created),
        updated_at=old_time(updated),
    )


def old_time(said: object) -> str:
    at = datetime.fromisoformat(str(said))
    return micros(at if at.tzinfo else at.replace(tzinfo=UTC))


def refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the database is empty, ours or the existing Tasky's; nothing is written."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    columns = {row[1] for row in connection.execute("PRAGMA table_info(tasks)")}
    if names and not columns.issuperset(_OLD):
        raise UnavailableError(
            f"{path} is an SQLite database of something else; it was left as it is.",
            reason="corrupt_store",
            suggestions=["Name another file in storage.path, or move this one away."],
        )


def upgrade_sqlite(
    connection: sqlite3.Connection, path: Path, schema: list[str], keeper: _Keeper
) -> None:
    """Make the tables, in a transaction that is already open, and move the old tasks into them."""
    has_old = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tasks'").fetchone()
    tasks = _take_old(connection, path) if has_old else []
    for statement in schema:
        connection.execute(statement)
    keeper.apply(Changes(tasks=[(None, task) for task in tasks]))


def _take_old(connection: sqlite3.Connection, path: Path) -> list[Task]:
    rows = connection.execute(f"SELECT {', '.join(_OLD)} FROM tasks").fetchall()  # noqa: S608  columns are constants
    tasks = old_tasks((dict(zip(_OLD, row, strict=True)) for row in rows), str(path))
    Backup(path, "1").copy_database()
    connection.execute("DROP TABLE tasks")
    return tasks
