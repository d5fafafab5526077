"""The embedded engine: one SQLite file that every server of this user shares.

An owner holds a lock on a file of its own as long as it lives, however it ends. Whoever looks at a
running task whose owner's lock is free knows that nobody runs it any more.
"""

import asyncio
import json
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from ..errors import TooManyTasksError
from ..model import INTERRUPTED, Task
from ..settings import TasksSettings
from .protocol import Engine, Wish

FILE = "tasks.db"
BUSY = 10.0
"""Seconds to wait for another server that writes."""
LOOK = 1.0
"""Seconds between two looks for wishes that other servers have brought."""
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

T = TypeVar("T")


@asynccontextmanager
async def open_engine(settings: TasksSettings, folder: Path) -> AsyncIterator[Engine]:
    """Open the file in a folder; at the end, what this owner still runs is interrupted."""
    engine = SqliteEngine(folder)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


class SqliteEngine:
    """An engine in one SQLite file.

    Invariants: the connection is used in the one thread of `_thread` alone; `_lock` is held from
    `open` to `close`. `_woken` is set when this owner itself has brought a wish.
    """

    def __init__(self, folder: Path) -> None:
        self.owner = uuid.uuid4().hex
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, "tasks-store")
        self._lock = FileLock(self._lock_of(self.owner))
        self._database: sqlite3.Connection
        self._woken = asyncio.Event()
        self._pruned = 0.0

    async def open(self) -> None:
        """Open the file, make it if need be, and remove what has expired."""
        await self._do(self._open)

    async def close(self) -> None:
        """Note that nobody runs the tasks of this owner any more, and close the file."""
        await self._do(self._close)
        self._thread.shutdown()

    async def add(self, task: Task, *, running: int, kept: int) -> None:
        """As `Engine.add`."""

        def add() -> None:
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

        await self._do(add)

    async def get(self, task_id: str) -> Task | None:
        """As `Engine.get`."""

        def get() -> Task | None:
            task = self._read(task_id)
            if task is None or task.has_ended or self._is_alive(task.owner):
                return task
            return self._changed(task_id, interrupted)

        return await self._do(get)

    async def change(self, task_id: str, change: Callable[[Task], Task]) -> Task | None:
        """As `Engine.change`."""
        return await self._do(lambda: self._changed(task_id, change))

    async def wish(self, task: Task, wish: Wish) -> None:
        """As `Engine.wish`."""

        def write() -> None:
            with self._database as database:
                database.execute(
                    "INSERT INTO wishes (owner, data) VALUES (?, ?)",
                    (task.owner, json.dumps(asdict(wish))),
                )

        await self._do(write)
        if task.owner == self.owner:
            self._woken.set()

    async def wishes(self, seconds: float) -> list[Wish]:
        """As `Engine.wishes`."""
        ends = time.monotonic() + seconds
        while True:
            self._woken.clear()
            found = await self._do(self._taken)
            left = ends - time.monotonic()
            if found or left <= 0:
                return found
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), min(LOOK, left))

    # -- in the thread of the store

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock.acquire()
        self._database = sqlite3.connect(
            self._folder / FILE, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        self._database.execute("PRAGMA journal_mode = WAL")
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise RuntimeError(f"{FILE} was made by a later version of mcp-host-tasks")
        self._database.executescript(SCHEMA)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")
        self._prune()

    def _close(self) -> None:
        own = self._database.execute(
            "SELECT id FROM tasks WHERE owner = ? AND NOT has_ended", (self.owner,)
        ).fetchall()
        for (task_id,) in own:
            self._changed(task_id, interrupted)
        self._database.close()
        self._lock.release()
        Path(self._lock.lock_file).unlink(missing_ok=True)

    def _changed(self, task_id: str, change: Callable[[Task], Task]) -> Task | None:
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

    def _taken(self) -> list[Wish]:
        waiting = "SELECT 1 FROM wishes WHERE owner = ? LIMIT 1"
        if self._database.execute(waiting, (self.owner,)).fetchone() is None:
            return []
        with self._database as database:
            rows = database.execute(
                "DELETE FROM wishes WHERE owner = ? RETURNING number, data", (self.owner,)
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
            self._changed(task_id, interrupted)
        self._database.execute("DELETE FROM wishes WHERE owner = ?", (owner,))
        self._lock_of(owner).unlink(missing_ok=True)

    def _is_alive(self, owner: str) -> bool:
        if owner == self.owner:
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

    async def _do(self, work: Callable[[], T]) -> T:
        """Do a piece of work in the store's own thread, to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


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
