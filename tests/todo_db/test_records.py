"""What is kept beside `tasks`: who changed what, and what the operator can bring back."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from mcp_host_todo_db.errors import (
    NotKeptError,
    NotYourTasksError,
    OwnTableMissingError,
    TaskNotFoundError,
)
from mcp_host_todo_db.model import TaskCreate, TaskRead, TaskUpdate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate, standing
from mcp_host_todo_db.storage.records import VERSION, records
from sqlalchemy import Connection

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

BIN = Path(sys.executable).parent
FOREIGN = {
    "text ids": "id varchar PRIMARY KEY, user_id varchar NOT NULL, title varchar NOT NULL,"
    " description text, is_completed boolean NOT NULL, created_at timestamptz NOT NULL,"
    " updated_at timestamptz NOT NULL",
    "short ids, local times": "id char(32) PRIMARY KEY, user_id text NOT NULL, title text NOT NULL,"
    " description text, is_completed boolean NOT NULL, created_at timestamp NOT NULL,"
    " updated_at timestamp NOT NULL",
    "uuids": "id uuid PRIMARY KEY, user_id uuid NOT NULL, title text NOT NULL,"
    " description text, is_completed boolean NOT NULL, created_at timestamptz NOT NULL,"
    " updated_at timestamp NOT NULL",
}
ANN = "6f0e3bb7-4d16-4f5e-8d3e-2f6f1d7f7a01"


@pytest.fixture(params=["sqlite", "postgres", *FOREIGN])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the newest version."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'todo.db'}"
    server: Server = request.getfixturevalue("server")
    schema = await server.schema()
    if request.param in FOREIGN:
        await server.execute(
            f"SET search_path = {schema}; CREATE TABLE tasks ({FOREIGN[request.param]});"
            " GRANT ALL ON tasks TO todo; ALTER ROLE todo SET timezone = 'Asia/Tokyo'"
        )
    await migrate(read_url(server.url(schema)))
    return server.url(schema)


@pytest.fixture
def clock() -> Iterator[datetime]:
    start = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    return iter(start + timedelta(seconds=n) for n in range(1000))


async def test_the_history_says_who_changed_what_and_when(
    url: str, clock: Iterator[datetime]
) -> None:
    times: list[datetime] = []

    def now() -> datetime:
        times.append(next(clock))
        return times[-1]

    async with open_store(read_url(url)) as store:
        tasks = TaskService(store, now=now)
        made = await tasks.add(ANN, TaskCreate("Buy groceries"), caller=ANN)
        await tasks.complete(ANN, made.id)
        await tasks.complete(ANN, made.id, completed=True)  # which changes nothing
        await tasks.complete(ANN, made.id, completed=False)
        await tasks.update(ANN, made.id, TaskUpdate(title="Buy fruits", description="Organic"))
        await tasks.update(ANN, made.id, TaskUpdate())  # nor does this
        await tasks.delete(ANN, made.id, caller=ANN)
        with pytest.raises(TaskNotFoundError):
            await tasks.delete(ANN, made.id, caller=ANN)

        history = await tasks.history(ANN)

        assert [(c.action, c.title, c.fields, c.actor) for c in reversed(history)] == [
            ("added", "Buy groceries", None, ANN),
            ("completed", "Buy groceries", None, None),
            ("reopened", "Buy groceries", None, None),
            ("updated", "Buy fruits", "title,description", None),
            ("deleted", "Buy fruits", None, ANN),
        ]
        assert {c.task_id for c in history} == {made.id}
        assert [c.at for c in reversed(history)] == [times[n] for n in (0, 1, 3, 4, 6)]
        assert len(await tasks.history(ANN, limit=2)) == 2
        assert await tasks.history(str(uuid4())) == ()
        with pytest.raises(NotYourTasksError):
            await tasks.history(ANN, caller="bob")


async def test_the_operator_brings_a_deleted_task_back_as_it_was(url: str) -> None:
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        made = await tasks.add(ANN, TaskCreate("Buy groceries", "Milk"))
        done = await tasks.complete(ANN, made.id)
        for _ in range(2):
            await tasks.delete(ANN, made.id)

            assert (await tasks.page(ANN)).tasks == ()
            assert await tasks.restore(ANN, made.id) == "Buy groceries"
            assert (await tasks.page(ANN)).tasks == (done,)

        assert (await tasks.history(ANN))[0].action == "restored"
        for user, task in ((ANN, made.id), (str(uuid4()), made.id), (ANN, str(uuid4()))):
            with pytest.raises(TaskNotFoundError):
                await tasks.restore(user, task)
        assert (await tasks.page(ANN)).tasks == (done,)


async def test_what_is_not_to_be_kept_leaves_nothing(url: str) -> None:
    async with open_store(read_url(url), history_days=0, undo_days=0) as store:
        tasks = TaskService(store)
        made = await tasks.add(ANN, TaskCreate("t"))
        await tasks.complete(ANN, made.id)
        await tasks.delete(ANN, made.id)
        with pytest.raises(NotKeptError, match="history_days"):
            await tasks.history(ANN)
        with pytest.raises(NotKeptError, match="undo_days"):
            await tasks.restore(ANN, made.id)

    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        assert await tasks.history(ANN) == ()
        with pytest.raises(TaskNotFoundError):
            await tasks.restore(ANN, made.id)


async def test_what_is_older_than_it_is_to_be_kept_is_removed(url: str) -> None:
    begin = datetime(2026, 1, 2, tzinfo=UTC)
    moments = iter([begin, begin, begin + timedelta(days=8), begin + timedelta(days=31)])
    async with open_store(read_url(url), history_days=30, undo_days=7) as store:
        tasks = TaskService(store, now=lambda: next(moments))
        old = await tasks.add(ANN, TaskCreate("old"))
        await tasks.delete(ANN, old.id)
        await tasks.add(ANN, TaskCreate("new"))
        assert [c.title for c in await tasks.history(ANN)] == ["new", "old", "old"]
        await tasks.add(ANN, TaskCreate("newest"))

        async with asyncio.timeout(30):
            while [c.title for c in await tasks.history(ANN)] != ["newest", "new"]:
                continue  # it is removed beside the calls
        with pytest.raises(TaskNotFoundError):
            await TaskService(store).restore(ANN, old.id)


async def test_old_records_that_cannot_be_removed_are_nobodys_error(
    server: "Server", schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    await migrate(read_url(server.url(schema)))
    await server.execute(f"REVOKE DELETE ON {schema}.todo_history, {schema}.todo_deleted FROM todo")
    async with open_store(read_url(server.url(schema))) as store:
        tasks = TaskService(store)
        await tasks.add("ann", TaskCreate("t"))
        async with asyncio.timeout(30):
            while "old records could not be removed" not in caplog.text:
                await tasks.page("ann")

        assert (await tasks.page("ann")).total == 1


async def test_with_tasks_alone_everything_works_but_history_and_undo(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema))) as store:
        tasks = TaskService(store)
        made = await tasks.add("ann", TaskCreate("t"))
        assert (await tasks.complete("ann", made.id)).is_completed
        await tasks.delete("ann", made.id)

        for use in (tasks.history("ann"), tasks.restore("ann", made.id)):
            with pytest.raises(NotKeptError, match="todo-db-mcp migrate"):
                await use


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("table", ["todo_history", "todo_deleted", "todo_keys"])
async def test_a_table_of_its_own_that_goes_while_it_serves_is_named(
    url: str, table: str, request: pytest.FixtureRequest
) -> None:
    await migrate(read_url(url))
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        made = await tasks.add("ann", TaskCreate("t"), key="a")
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                connection.execute(f"DROP TABLE {table}")
        else:
            server: Server = request.getfixturevalue("server")
            schema = url.rpartition("search_path=")[2]
            await server.execute(f"DROP TABLE {schema}.{table}")

        with pytest.raises(OwnTableMissingError, match=f"no table {table} any more"):
            await tasks.add("ann", TaskCreate("u"), key="b")
            await tasks.delete("ann", made.id)

    async with open_store(read_url(url)) as store:
        assert (await TaskService(store).add("ann", TaskCreate("v"))).title == "v"


async def test_a_migrated_database_has_the_tables_that_are_written(url: str) -> None:
    def differences(connection: Connection) -> list[Any]:
        wanted = records(native=connection.dialect.name == "postgresql").history.metadata
        return compare_metadata(
            MigrationContext.configure(
                connection,
                opts={
                    "include_name": lambda name, kind, _: kind != "table" or name in wanted.tables
                },
            ),
            wanted,
        )

    async with open_store(read_url(url)) as store, store.sessions() as session:
        assert await (await session.connection()).run_sync(differences) == []
    assert (await standing(read_url(url))).version == VERSION


async def test_beside_a_table_that_no_task_fits_into_nothing_is_made(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE tasks (id text)")

        assert await run(tmp_path, f"sqlite:///{file}", "migrate") == (
            1,
            "",
            f"error: The table tasks of the database at {file} cannot be used:"
            " it has no column user_id\n",
        )
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("tasks",)]


async def test_two_that_migrate_at_once_do_it_once_and_keep_the_rows(
    server: "Server", schema: str
) -> None:
    address = read_url(server.url(schema))
    await create_tables(address)
    async with open_store(address) as store:
        made = await TaskService(store).add("ann", TaskCreate("t"))

    before = await asyncio.gather(*(migrate(address) for _ in range(3)))

    assert sorted(str(found.version) for found in before) == [VERSION, VERSION, "None"]
    async with open_store(address) as store:
        assert (await TaskService(store).page("ann")).tasks == (made,)


@pytest.mark.parametrize("start", ["nothing", "tasks", "0001"])
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.torture)])
def test_a_file_whose_migration_is_killed_loses_nothing_and_is_migrated_by_the_next(
    tmp_path: Path, start: str, every: int
) -> None:
    program = Path(__file__).with_name("killed_migrations.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path, start, str(every)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["kills"] > 12 / every / 2


@pytest.mark.parametrize(
    ("start", "last"),
    [("nothing", "todo_deleted"), ("tasks", "todo_deleted"), ("0001", "todo_keys")],
)
async def test_a_migration_that_is_killed_leaves_nothing_and_is_run_again(
    server: "Server", schema: str, tmp_path: Path, start: str, last: str
) -> None:
    url = server.url(schema)
    version = start if start.isdigit() else None
    made: tuple[TaskRead, ...] = ()
    if start != "nothing":
        await create_tables(read_url(url))
    if version is not None:
        await migrate(read_url(url))
        await server.execute(
            f"SET search_path = {schema}; DROP TABLE todo_keys;"
            f" UPDATE todo_db_version SET version_num = '{version}'"
        )
    if start != "nothing":
        async with open_store(read_url(url)) as store:
            made = (await TaskService(store).add(ANN, TaskCreate("kept")),)
    other = await asyncpg.connect(server.admin_url)
    begun = other.transaction()
    await begun.start()
    # Whoever makes the last table waits for this one to be there or not.
    await other.execute(f"CREATE TABLE {schema}.{last} (x int)")
    migrating = subprocess.Popen(
        [BIN / "todo-db-mcp", "migrate"], env=environment(tmp_path, url), stdout=subprocess.PIPE
    )
    waits = (
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'todo' AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(60):
        while not await server.value(waits):
            assert migrating.poll() is None
            await asyncio.sleep(0.05)
    migrating.kill()
    migrating.communicate()
    await begun.rollback()
    await other.close()
    left = await standing(read_url(url))
    assert (left.version, left.has_table) == (version, start != "nothing")

    before = "no version" if version is None else version
    assert await run(tmp_path, url, "migrate") == (
        0,
        f"127.0.0.1:{server.port}: migrated from {before} to {VERSION}\n",
        "",
    )
    if start == "nothing":
        assert await run(tmp_path, url, "migrate") == (
            0,
            f"127.0.0.1:{server.port}: version {VERSION} is there already\n",
            "",
        )
    assert not (await migrate(read_url(url))).is_due
    async with open_store(read_url(url)) as store:
        assert (await TaskService(store).page(ANN)).tasks == made


@pytest.mark.parametrize("url", ["sqlite", "uuids"], indirect=True)
async def test_the_command_undo_restores_a_task_and_says_when_it_cannot(url: str) -> None:
    folder = Path(os.devnull).parent
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        made = await tasks.add(ANN, TaskCreate("Buy groceries"))
        await tasks.delete(ANN, made.id)

        place = read_url(url).place
        assert await run(folder, url, "undo", ANN, made.id) == (
            0,
            f"{place}: restored 'Buy groceries' of {ANN}\n",
            "",
        )
        assert (await tasks.page(ANN)).tasks == (made,)
        for task in (made.id, "no-uuid"):
            assert await run(folder, url, "undo", ANN, task) == (
                1,
                "",
                "error: Task not found or access denied\n",
            )
    code, _, said = await run(folder, url, "undo", ANN)
    assert code == 2
    assert "TASK" in said


async def test_doctor_says_that_a_migration_is_due_and_which_indexes_are_missing(
    server: "Server", schema: str, tmp_path: Path
) -> None:
    await server.execute(
        f"SET search_path = {schema}; CREATE TABLE tasks ({FOREIGN['text ids']});"
        " GRANT ALL ON tasks TO todo"
    )
    config = tmp_path / "mcp-host.toml"
    config.write_text(
        f'[packs.todo_db]\nenabled = true\n[packs.todo_db.settings]\nurl = "{server.url(schema)}"\n'
    )

    due = await told_by_doctor(config)
    await migrate(read_url(server.url(schema)))
    slow = await told_by_doctor(config)

    assert "todo-db-mcp migrate" in due
    assert "todo-db-mcp migrate" not in slow
    assert "CREATE INDEX tasks_of_user ON tasks (user_id, created_at, id)" in slow


async def told_by_doctor(config: Path) -> str:
    done = await asyncio.to_thread(
        subprocess.run,
        [BIN / "mcp-host", "doctor", "--json", "--config", config],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


async def run(folder: Path, url: str, *arguments: str) -> tuple[int, str, str]:
    done = await asyncio.to_thread(
        subprocess.run,
        [BIN / "todo-db-mcp", *arguments],
        env=environment(folder, url),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def environment(folder: Path, url: str) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    return {**os.environ, **folders, "DATABASE_URL": url}


async def test_of_programs_that_migrate_at_the_same_time_one_does_it(database_url: str) -> None:
    await create_tables(read_url(database_url))
    environment = {**os.environ, "DATABASE_URL": database_url}
    argv = [sys.executable, "-m", "mcp_host_todo_db", "migrate"]
    programs = [
        await asyncio.create_subprocess_exec(
            *argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    told = [await program.communicate() for program in programs]

    assert [errors for _, errors in told] == [b""] * 4
    lines = sorted(line.decode().partition(": ")[2].strip() for line, _ in told)
    done, *others = lines
    assert done == f"migrated from no version to {VERSION}"
    assert others == [f"version {VERSION} is there already"] * 3
