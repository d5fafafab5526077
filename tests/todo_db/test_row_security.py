"""Row-level security: PostgreSQL itself keeps users apart, whatever a statement forgets."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
from mcp_host_todo_db.errors import (
    RowSecurityMissingError,
    TaskNotFoundError,
)
from mcp_host_todo_db.model import TaskCreate, TaskUpdate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import Address, TaskStore, create_tables, open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate
from mcp_host_todo_db.storage.statement import Statement

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

TABLES = {
    "made here": None,
    "uuids": "id uuid PRIMARY KEY, user_id uuid NOT NULL, title text NOT NULL, description text,"
    " is_completed boolean NOT NULL, created_at timestamptz NOT NULL, updated_at timestamp"
    " NOT NULL",
    "short ids": "id char(32) PRIMARY KEY, user_id char(32) NOT NULL, title text NOT NULL,"
    " description text, is_completed boolean NOT NULL, created_at timestamp NOT NULL,"
    " updated_at timestamp NOT NULL",
}
ANN = "6f0e3bb7-4d16-4f5e-8d3e-2f6f1d7f7a01"
BOB = "6f0e3bb7-4d16-4f5e-8d3e-2f6f1d7f7a02"


@pytest.fixture(params=TABLES)
async def url(request: pytest.FixtureRequest, server: "Server", schema: str) -> str:
    """A database behind its wall, as the role that serves reaches it."""
    columns = TABLES[request.param]
    if columns is not None:
        await server.execute(f"CREATE TABLE {schema}.tasks ({columns})")
    await migrate(owners(server, schema), row_security="force" if columns else "keep")
    await admitted(server, schema)
    return server.url(schema)


@pytest.fixture
async def store(url: str) -> AsyncIterator[TaskStore]:
    async with open_store(read_url(url), row_security=True, pool_size=3) as opened:
        yield opened


async def test_every_operation_works_behind_the_wall(url: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    async with open_store(read_url(url), row_security=True) as store:
        tasks = TaskService(store, now=lambda: now)
        milk = await tasks.add(ANN, TaskCreate("Milk"), key="k")
        assert await tasks.add(ANN, TaskCreate("Milk"), key="k") == milk
        await tasks.add(BOB, TaskCreate("Bread"), key="k")
        await asyncio.gather(*(tasks.complete(ANN, milk.id, key="flip") for _ in range(4)))
        await tasks.update(ANN, milk.id, TaskUpdate("Oat milk"))
        for _ in range(2):
            await tasks.delete(ANN, milk.id)
            with pytest.raises(TaskNotFoundError):
                await tasks.restore(BOB, milk.id)
            await tasks.restore(ANN, milk.id)

        assert [task.is_completed for task in (await tasks.page(ANN)).tasks] == [True]
        assert len(await tasks.history(BOB)) == 1
        now += timedelta(days=31)
        await tasks.add(BOB, TaskCreate("Butter"))
        async with asyncio.timeout(30):
            while len(await tasks.history(ANN)):
                pass  # what is old is removed beside the calls


async def test_a_statement_without_its_user_still_shows_one_users_rows(
    store: TaskStore, server: "Server", schema: str
) -> None:
    tasks = TaskService(store)
    for user in (ANN, BOB):
        for n in range(3):
            await tasks.add(user, TaskCreate(f"{n} of {user}"))
    before = (await tasks.page(ANN)).tasks
    statements = store._statements
    for which, page in statements._pages.items():
        statements._pages[which] = without_user(page)
    statements.flip = without_user(statements.flip)
    statements.delete = without_user(statements.delete)

    assert (await tasks.page(ANN)).tasks == before
    (of_bob, *_) = (await tasks.page(BOB)).tasks
    for change in (tasks.complete, tasks.delete):
        with pytest.raises(TaskNotFoundError):
            await change(ANN, of_bob.id)

    connection = await asyncpg.connect(server.url(schema))
    for table in ("tasks", "todo_history", "todo_keys", "todo_deleted"):
        assert await connection.fetch(f"SELECT * FROM {table}") == []
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute(
            "INSERT INTO todo_history (user_id, task_id, at, action, title)"
            " VALUES ('ann', 'x', now(), 'added', 't')"
        )
    await connection.close()


async def test_a_call_that_was_given_up_leaves_nobody_in_its_connection(
    url: str, server: "Server", schema: str
) -> None:
    async with open_store(read_url(url), row_security=True, pool_size=1) as store:
        tasks = TaskService(store)
        made = await tasks.add(ANN, TaskCreate("Milk"))
        await tasks.add(BOB, TaskCreate("Bread"))
        other = await asyncpg.connect(server.admin_url)
        async with other.transaction():
            await other.execute(f"SELECT 1 FROM {schema}.tasks FOR UPDATE")
            waiting = asyncio.create_task(tasks.complete(ANN, made.id))
            blocked = (
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE usename = 'todo' AND wait_event_type = 'Lock'"
            )
            async with asyncio.timeout(60):
                while not await other.fetchval(blocked):
                    continue
            waiting.cancel()
            await asyncio.wait([waiting])
            assert [task.title for task in (await tasks.page(BOB)).tasks] == ["Bread"]
        await other.close()

        assert not (await tasks.page(ANN)).tasks[0].is_completed


async def test_without_a_wall_that_holds_for_its_role_the_pack_does_not_start(
    server: "Server", schema: str, tmp_path: Path
) -> None:
    await create_tables(read_url(server.url(schema)))
    with pytest.raises(RowSecurityMissingError, match="not forced on tasks"):
        await opened(server.url(schema))
    await migrate(read_url(server.url(schema)), row_security="force")
    with pytest.raises(RowSecurityMissingError, match="owns tasks"):
        await opened(server.url(schema))
    with pytest.raises(RowSecurityMissingError, match="may bypass"):
        await opened(f"{server.admin_url}?search_path={schema}")
    with pytest.raises(RowSecurityMissingError, match="SQLite has none"):
        await opened(f"sqlite:///{tmp_path / 'todo.db'}")
    await server.execute(f"ALTER TABLE {schema}.todo_keys NO FORCE ROW LEVEL SECURITY")
    with pytest.raises(RowSecurityMissingError, match="not forced on todo_keys"):
        await opened(server.url(schema))


async def test_the_command_raises_the_wall_and_leaves_a_table_of_others_until_told(
    server: "Server", schema: str, tmp_path: Path
) -> None:
    await server.execute(f"CREATE TABLE {schema}.tasks ({TABLES['uuids']})")
    config = tmp_path / "mcp-host.toml"
    config.write_text(
        f'[packs.todo_db.settings]\nurl = "{server.admin_url}?search_path={schema}"\n'
        "row_security = true\n"
    )

    first, second = await told(config), await told(config, "--row-security")

    assert "has no row-level security" in first
    assert "`todo-db-mcp migrate --row-security` forces it" in first
    assert "row-level security is forced" in second
    await admitted(server, schema)
    await opened(server.url(schema))


def without_user(statement: Statement) -> Statement:
    """The statement with its condition on the user taken away."""
    mine = re.compile(r"tasks\.user_id = (\$\d+(::[A-Z]+(\(\d+\))?)?)")
    assert mine.search(statement.sql)
    return replace(statement, sql=mine.sub(r"(tasks.user_id = \1 OR true)", statement.sql))


def owners(server: "Server", schema: str) -> Address:
    """The database as the owner of its tables reaches it."""
    return read_url(f"{server.admin_url}?search_path={schema}")


async def admitted(server: "Server", schema: str) -> None:
    """Let the role that serves use the tables of somebody else."""
    await server.execute(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO todo;"
        f" GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO todo"
    )


async def opened(url: str) -> None:
    async with open_store(read_url(url), row_security=True):
        pass


async def told(config: Path, *more: str) -> str:
    done = await asyncio.to_thread(
        subprocess.run,
        [Path(sys.executable).with_name("todo-db-mcp"), "migrate", "--config", config, *more],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
