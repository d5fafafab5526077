"""Tasks of one person on one machine, in an SQLite file: no server, no login.

The rules and texts are the backend's, so that moving to a server changes nothing else.
"""

import getpass
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ..errors import BusyError, InvalidError, NotFoundError, RefusedError, UnavailableError
from ..model.rules import STATUSES, one_of
from ..model.task import Comment, Draft, Task, User
from .files import private_folder
from .tasks import CHANGED_MEANWHILE

SCHEMA = """
CREATE TABLE IF NOT EXISTS user (
    id INTEGER PRIMARY KEY, username TEXT NOT NULL, email TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS project (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    description TEXT,
    type TEXT NOT NULL,
    priority TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'TODO',
    branch_name TEXT,
    deadline TEXT,
    project_id INTEGER NOT NULL REFERENCES project(id),
    assignee_id INTEGER REFERENCES user(id),
    collaborator_ids TEXT NOT NULL DEFAULT '[]',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at TEXT
);
CREATE TABLE IF NOT EXISTS comment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES task(id),
    user_id INTEGER NOT NULL REFERENCES user(id),
    content TEXT NOT NULL,
    created_at TEXT NOT NULL
);
"""
VERSION = 2
COLUMNS = ", ".join(Task.__slots__)
CHANGEABLE = (
    "title", "description", "type", "priority", "status", "branch_name", "deadline", "assignee_id"
)  # fmt: skip


class LocalTasks:
    """The tasks in one file. Safe for several processes at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mine(self) -> list[Task]:
        """See `Tasks`."""
        with self._open() as db:
            rows = db.execute(f"SELECT {COLUMNS} FROM task WHERE deleted_at IS NULL ORDER BY id")  # noqa: S608  constants
            return [_task(row) for row in rows]

    def get(self, task_id: int) -> Task:
        """See `Tasks`."""
        with self._open() as db:
            return _find(db, task_id)

    def create(self, draft: Draft) -> Task:
        """See `Tasks`."""
        now = _now()
        with self._open(write=True) as db:
            _known(db, "project", draft.project_id)
            _known(db, "user", draft.assignee_id)
            made = db.execute(
                "INSERT INTO task (title, description, type, priority, deadline, project_id,"
                " assignee_id, collaborator_ids, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    draft.title,
                    draft.description,
                    draft.type,
                    draft.priority,
                    draft.deadline,
                    draft.project_id or 1,
                    draft.assignee_id or 1,
                    json.dumps(draft.collaborator_ids),
                    now,
                    now,
                ),
            )
            return _find(db, made.lastrowid or 0)

    def change(self, task_id: int, fields: Mapping[str, object], seen: Task | None = None) -> Task:
        """See `Tasks`."""
        unknown = sorted(set(fields) - set(CHANGEABLE))
        if unknown:
            raise InvalidError(f"A task has no field {', '.join(unknown)} that can be changed.")
        if "status" in fields:
            one_of("status", str(fields["status"]), STATUSES)
        with self._open(write=True) as db:
            now = _find(db, task_id)
            if seen is not None and seen.updated_at != now.updated_at:
                raise RefusedError("The task changed meanwhile.", reason=CHANGED_MEANWHILE)
            _known(db, "user", _number(fields.get("assignee_id")))
            for name, value in fields.items():
                db.execute(f"UPDATE task SET {name} = ? WHERE id = ?", (value, task_id))  # noqa: S608  a listed name
            db.execute("UPDATE task SET updated_at = ? WHERE id = ?", (_now(), task_id))
            return _find(db, task_id)

    def delete(self, task_id: int) -> None:
        """See `Tasks`."""
        with self._open(write=True) as db:
            _find(db, task_id)
            db.execute("UPDATE task SET deleted_at = ? WHERE id = ?", (_now(), task_id))

    def restore(self, task_id: int) -> Task:
        """See `Tasks`."""
        with self._open(write=True) as db:
            db.execute("UPDATE task SET deleted_at = NULL WHERE id = ?", (task_id,))
            return _find(db, task_id)

    def comments(self, task_id: int) -> list[Comment]:
        """See `Tasks`."""
        with self._open() as db:
            _find(db, task_id)
            rows = db.execute(
                "SELECT comment.id, username, content, comment.created_at"
                " FROM comment JOIN user ON user.id = user_id"
                " WHERE task_id = ? ORDER BY comment.id DESC LIMIT 100",
                (task_id,),
            )
            return [Comment(*row) for row in rows]

    def comment(self, task_id: int, text: str) -> None:
        """See `Tasks`."""
        with self._open(write=True) as db:
            _find(db, task_id)
            db.execute(
                "INSERT INTO comment (task_id, user_id, content, created_at) VALUES (?, 1, ?, ?)",
                (task_id, text, _now()),
            )

    def find_user(self, who: str) -> User:
        """See `Tasks`."""
        me = self.me()
        if who in ("me", str(me.id), me.email, me.username):
            return me
        raise NotFoundError(f"There is no user {who}.", reason="no_such_user")

    def me(self) -> User:
        """See `Tasks`."""
        with self._open() as db:
            return User(*db.execute("SELECT id, username, email FROM user WHERE id = 1").fetchone())

    @contextmanager
    def _open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database in one transaction: all of it is kept, or nothing."""
        if not self._path.exists():
            private_folder(self._path.parent)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        db = None
        try:
            db = sqlite3.connect(self._path, timeout=10, isolation_level=None)
            _prepare(db)
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield db
            db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise BusyError(
                    "Another ctx is writing the local tasks.", reason="tasks_locked"
                ) from None
            raise _unusable(self._path, error) from None
        except sqlite3.DatabaseError as error:
            raise _unusable(self._path, error) from None
        finally:
            if db is not None:
                db.close()  # rolls back what was not committed


def _prepare(db: sqlite3.Connection) -> None:
    """Make the tables, the user and the default project on first use."""
    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    write_ahead(db)
    name = getpass.getuser()
    db.executescript(f"BEGIN IMMEDIATE; {SCHEMA}")
    db.execute("INSERT OR IGNORE INTO user VALUES (1, ?, ?)", (name, f"{name}@localhost"))
    db.execute("INSERT OR IGNORE INTO project VALUES (1, 'Default')")
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def write_ahead(db: sqlite3.Connection) -> None:
    """Give the file a write-ahead log, also where others do so at the same moment."""
    try:
        db.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        # SQLite does not wait here for whoever does the same. For their transaction it does.
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
        db.execute("PRAGMA journal_mode = WAL")


def _find(db: sqlite3.Connection, task_id: int) -> Task:
    row = db.execute(
        f"SELECT {COLUMNS} FROM task WHERE id = ? AND deleted_at IS NULL",  # noqa: S608  constants
        (task_id,),
    ).fetchone()
    if row is None:
        raise NotFoundError("Task not found", reason="not_found")
    return _task(row)


def _known(db: sqlite3.Connection, table: str, number: int | None) -> None:
    if number is None:
        return
    if db.execute(f"SELECT 1 FROM {table} WHERE id = ?", (number,)).fetchone() is None:  # noqa: S608  a constant name
        raise NotFoundError(f"{table.capitalize()} not found", reason="not_found")


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _task(row: tuple[object, ...]) -> Task:
    fields = dict(zip(Task.__slots__, row, strict=True))
    fields["collaborator_ids"] = tuple(json.loads(str(fields["collaborator_ids"])))
    return Task(**fields)  # type: ignore[arg-type]  # the table's columns have the fields' types


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _unusable(path: Path, error: sqlite3.Error) -> UnavailableError:
    return UnavailableError(
        f"The local tasks in {path} cannot be used: {error}", reason="tasks_unusable"
    )
