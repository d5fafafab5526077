"""Kill migrations of an SQLite file after each of their statements: `… FOLDER START EVERY`.

START is `nothing`, `tasks` or a version. Says what was killed and found, as JSON; the process has
no threads, so that it may fork.
"""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate
from sqlalchemy import Engine, event

LATER = {"0001": ["todo_keys"]}
"""The tables that a version had not yet."""


def url(file: Path) -> str:
    return f"sqlite:///{file}"


async def make(file: Path, start: str) -> None:
    """Make a file as it was before the migration, with a row where it has the table."""
    if start == "nothing":
        return
    await create_tables(read_url(url(file)))
    if start != "tasks":
        await migrate(read_url(url(file)))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO tasks VALUES ('00000000-0000-0000-0000-000000000001', 'ann', 'kept', NULL,"
            " 0, '2026-01-02 03:04:05.000000', '2026-01-02 03:04:05.000000')"
        )
        for table in LATER.get(start, ()):
            connection.execute(f"DROP TABLE {table}")
            connection.execute("UPDATE todo_db_version SET version_num = ?", (start,))


async def use(file: Path) -> None:
    """Write and undo through a store, which fails where a table is missing."""
    async with open_store(read_url(url(file))) as store:
        service = TaskService(store)
        made = await service.add("bob", TaskCreate("new"), key="k")
        assert await service.add("bob", TaskCreate("new"), key="k") == made
        await service.delete("bob", made.id)
        await service.restore("bob", made.id)
        assert len(await service.history("bob")) == 3


def forked(work: object, *arguments: object) -> int:
    """Run a coroutine in a process of its own; how that ended."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        asyncio.run(work(*arguments))  # type: ignore[operator]
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


async def killed(file: Path, after: int) -> None:
    """Migrate, and die after so many statements."""
    left = after

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", count)
    await migrate(read_url(url(file)))


def rows(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [title for (title,) in connection.execute("SELECT title FROM tasks ORDER BY title")]


def main(folder: Path, start: str, every: int) -> None:
    before = folder / "before.db"
    assert forked(make, before, start) == 0
    kills = 0
    for after in range(every // 2 + 1, 1000, every):
        file = folder / f"{after}.db"
        if before.exists():
            shutil.copy(before, file)
        ended = forked(killed, file, after)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, (after, ended)
        kills += 1
        assert forked(killed, file, 0) == 0, after
        assert forked(use, file) == 0, after
        assert rows(file) == (["new"] if start == "nothing" else ["kept", "new"]), after
    print(json.dumps({"kills": kills}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
