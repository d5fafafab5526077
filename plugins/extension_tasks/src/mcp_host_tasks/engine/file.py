"""The SQLite file of tasks that every server of this user shares, used in one thread of each.

An owner holds a lock on a file of its own as long as it lives, however it ends. Whoever looks at a
running task whose owner's lock is free knows that nobody runs it any more.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import TooManyTasksError
from ..model import INTERRUPTED, Task
from .protocol import Wish

FILE = "tasks.db"
BUSY = 10.0
"""Seconds to wait for another server that writes."""
PRUNING = 60.0
"""Seconds between two removals of what has expired."""
FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY, whose TEXT, owner TEXT NOT NULL, has_ended INTEGER NOT NULL,
    expires REAL NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS tasks_whose ON tasks (whose, has_ended);
CREATE INDEX IF NOT EXISTS tasks_expires ON tasks (expires);
CREATE TABLE IF NOT EXISTS wishes (
    number INTEGER PRIMARY KEY, owner TEXT NOT NULL, data TEXT NOT NULL
) STRICT;
"""


class TaskFile:
    """The file in a folder, for one owner of tasks.

    Invariants: all methods run in one thread; the owner's lock is held from `open` to `close`.
    """

    def __init__(self, folder: Path, owner: str) -> None:
        self._folder = folder
        self._owner = owner
        self._lock = FileLock(self._lock_of(owner))
        self._database: sqlite3.Connection
        self._pruned = 0.0

    def open(self) -> None:
        """Open the file, make it if need be, and remove what has expired."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock.acquire()
        self._database = sqlite3.connect(
            self._folder / FILE, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        _write_ahead(self._database)
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise RuntimeError(f"{FILE} was made by a later version of mcp-host-tasks")
        self._database.executescript(SCHEMA)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")
        self._prune()

    def close(self) -> None:
        """Note that nobody runs the tasks of this owner any more, and close the file."""
        own = self._database.execute(
            "SELECT id FROM tasks WHERE owner = ? AND NOT has_ended", (self._owner,)
        ).fetchall()
        for (task_id,) in own:
            self.changed(task_id, interrupted)
        self._database.close()
        self._lock.release()
        Path(self._lock.lock_file).unlink(missing_ok=True)

    def add(self, task: Task, running: int, kept: int) -> None:
        """As `Engine.add`."""
        self._prune()
        with self._database as database:
            database.execute("BEGIN IMMEDIATE")
            told = database.execute(
                "SELECT count(*), coalesce(sum(NOT has_ended), 0) FROM tasks WHERE whose IS ?",
                (task.whose,),
            ).fetchone()
            if told[0] >= kept or told[1] >= running:
                limits = {"running": int(told[1]), "kept": int(told[0])}
                raise TooManyTasksError(
                    f"{told[1]} tasks of yours run and {told[0]} are kept; {running} may run "
                    f"and {kept} may be kept",
                    details=limits,
                )
            self._write(database, task)

    def get(self, task_id: str) -> Task | None:
        """As `Engine.get`."""
        task = self._read(task_id)
        if task is None or task.has_ended or self._is_alive(task.owner):
            return task
        return self.changed(task_id, interrupted)

    def wish(self, task: Task, wish: Wish) -> None:
        """Keep a wish for the owner of a task."""
        with self._database as database:
            database.execute(
                "INSERT INTO wishes (owner, data) VALUES (?, ?)",
                (task.owner, json.dumps(asdict(wish))),
            )

    def changed(self, task_id: str, change: Callable[[Task], Task]) -> Task | None:
        """As `Engine.change`."""
        with self._database as database:
            database.execute("BEGIN IMMEDIATE")
            task = self._read(task_id)
            if task is None or task.has_ended:
                return task
            task = replace(change(task), updated=time.time())
            self._write(database, task)
            return task

    def _read(self, task_id: str) -> Task | None:
        row = self._database.execute(
            "SELECT data FROM tasks WHERE id = ? AND expires > ?", (task_id, time.time())
        ).fetchone()
        return None if row is None else Task(**json.loads(row[0]))

    def _write(self, database: sqlite3.Connection, task: Task) -> None:
        values = (task.id, task.whose, task.owner, task.has_ended, task.expires)
        database.execute(
            "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?)",
            (*values, json.dumps(asdict(task))),
        )

    def taken(self) -> list[Wish]:
        """Take the wishes that wait for this owner, in their order."""
        waiting = "SELECT 1 FROM wishes WHERE owner = ? LIMIT 1"
        if self._database.execute(waiting, (self._owner,)).fetchone() is None:
            return []
        with self._database as database:
            rows = database.execute(
                "DELETE FROM wishes WHERE owner = ? RETURNING number, data", (self._owner,)
            ).fetchall()
        return [Wish(**json.loads(data)) for _, data in sorted(rows)]

    def _prune(self) -> None:
        """Remove what has expired, and what servers left that ended, now and then."""
        if time.monotonic() - self._pruned < PRUNING and self._pruned:
            return
        self._pruned = time.monotonic()
        self._database.execute("DELETE FROM tasks WHERE expires <= ?", (time.time(),))
        running = "SELECT DISTINCT owner FROM tasks WHERE NOT has_ended"
        owners = {owner for (owner,) in self._database.execute(running)}
        for file in self._folder.glob("owner-*.lock"):
            owners.add(file.stem.removeprefix("owner-"))
        for owner in owners:
            if not self._is_alive(owner):
                self._bury(owner)

    def _bury(self, owner: str) -> None:
        tasks = "SELECT id FROM tasks WHERE owner = ? AND NOT has_ended"
        for (task_id,) in self._database.execute(tasks, (owner,)).fetchall():
            self.changed(task_id, interrupted)
        self._database.execute("DELETE FROM wishes WHERE owner = ?", (owner,))
        self._lock_of(owner).unlink(missing_ok=True)

    def _is_alive(self, owner: str) -> bool:
        if owner == self._owner:
            return True
        file = self._lock_of(owner)
        if not file.exists():
            return False
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        return False

    def _lock_of(self, owner: str) -> Path:
        return self._folder / f"owner-{owner}.lock"


def _write_ahead(database: sqlite3.Connection) -> None:
    """Let servers that read not wait for one that writes, also where others ask for it as well."""
    try:
        database.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        # SQLite does not wait here for whoever does the same. For their transaction it does.
        database.execute("BEGIN IMMEDIATE")
        database.execute("ROLLBACK")
        database.execute("PRAGMA journal_mode = WAL")


def interrupted(task: Task) -> Task:
    """Return a task whose server ended before it did."""
    error: dict[str, Any] = {
        "code": -32603,
        "message": INTERRUPTED,
        "data": {"reason": "interrupted", "outcome": "unknown"},
    }
    return replace(
        task, status="failed", message=INTERRUPTED, error=error, questions={}, answers={}
    )
