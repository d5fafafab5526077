"""A request with a key is made once: answered again as the first time, and never done again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import asyncpg
import pytest
from mcp_host.testing import hosted
from mcp_host_todo_db.errors import (
    InvalidTaskError,
    NotKeptError,
    RequestKeyReusedError,
    TaskNotFoundError,
)
from mcp_host_todo_db.model import TaskCreate, TaskRead, TaskUpdate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

PACK = {"todo_db": "mcp_host_todo_db.plugin"}
ANN = "6f0e3bb7-4d16-4f5e-8d3e-2f6f1d7f7a01"
BOB = "6f0e3bb7-4d16-4f5e-8d3e-2f6f1d7f7a02"
FOREIGN = (
    "id char(32) PRIMARY KEY, user_id uuid NOT NULL, title text NOT NULL, description text,"
    " is_completed boolean NOT NULL, created_at timestamp NOT NULL, updated_at timestamp NOT NULL"
)
Change = Callable[[str | None], Awaitable[TaskRead]]


@pytest.fixture(params=["sqlite", "postgres", "made by another program"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the newest version."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'todo.db'}"
    server: Server = request.getfixturevalue("server")
    schema = await server.schema()
    if request.param != "postgres":
        await server.execute(
            f"SET search_path = {schema}; CREATE TABLE tasks ({FOREIGN});"
            " GRANT ALL ON tasks TO todo"
        )
    await migrate(read_url(server.url(schema)))
    return server.url(schema)


@pytest.fixture(params=[(30, 7), (0, 0)], ids=["with history", "without"])
async def tasks(url: str, request: pytest.FixtureRequest) -> AsyncIterator[TaskService]:
    history, undo = request.param
    async with open_store(read_url(url), history_days=history, undo_days=undo) as store:
        yield TaskService(store)


async def test_the_same_request_is_answered_as_the_first_time_and_changes_nothing_more(
    tasks: TaskService,
) -> None:
    task = await tasks.add(ANN, TaskCreate("Milk", "2 l"))
    changes: dict[str, Change] = {
        "add": lambda key: tasks.add(ANN, TaskCreate("Bread", "dark"), key=key),
        "flip": lambda key: tasks.complete(ANN, task.id, key=key),
        "set": lambda key: tasks.complete(ANN, task.id, completed=False, key=key),
        "update": lambda key: tasks.update(ANN, task.id, TaskUpdate("Oat milk"), key=key),
        "nothing": lambda key: tasks.update(ANN, task.id, TaskUpdate(), key=key),
        "delete": lambda key: tasks.delete(ANN, task.id, key=key),
    }
    for name, change in changes.items():
        first = await change(name)
        kept = await tasks.page(ANN)

        assert await change(name) == first
        assert await tasks.page(ANN) == kept

    for name, change in changes.items():  # also long after the task has become another, or gone
        assert await change(name) is not None
    assert [one.title for one in (await tasks.page(ANN)).tasks] == ["Bread"]


async def test_a_key_of_another_request_is_a_conflict_and_nothing_is_done(
    tasks: TaskService,
) -> None:
    task = await tasks.add(ANN, TaskCreate("Milk"), key="k")
    kept = await tasks.page(ANN)
    others: list[Change] = [
        lambda key: tasks.add(ANN, TaskCreate("Bread"), key=key),
        lambda key: tasks.add(ANN, TaskCreate("Milk", "2 l"), key=key),
        lambda key: tasks.complete(ANN, task.id, key=key),
        lambda key: tasks.update(ANN, task.id, TaskUpdate("Milk"), key=key),
        lambda key: tasks.delete(ANN, task.id, key=key),
    ]
    for other in others:
        with pytest.raises(RequestKeyReusedError):
            await other("k")

    assert await tasks.page(ANN) == kept
    assert (await tasks.add(BOB, TaskCreate("Bread"), key="k")).title == "Bread"


async def test_calls_that_come_while_the_first_runs_get_its_answer(tasks: TaskService) -> None:
    task = await tasks.add(ANN, TaskCreate("Milk"))

    added = await asyncio.gather(
        *(tasks.add(ANN, TaskCreate("Bread"), key="add") for _ in range(8))
    )
    flipped = await asyncio.gather(*(tasks.complete(ANN, task.id, key="flip") for _ in range(7)))
    deleted = await asyncio.gather(*(tasks.delete(ANN, task.id, key="delete") for _ in range(7)))

    assert len(set(added)) == len(set(flipped)) == len(set(deleted)) == 1
    assert deleted[0].is_completed
    assert (await tasks.page(ANN)).tasks == (added[0],)


async def test_a_second_call_waits_for_the_first_and_does_it_where_that_failed(
    server: "Server", schema: str
) -> None:
    await migrate(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema))) as store:
        tasks = TaskService(store)
        for ends_well in (True, False):
            other = await asyncpg.connect(server.admin_url)
            first = other.transaction()
            await first.start()
            key, task_id = str(ends_well), str(uuid4())
            made = await tasks.add(ANN, TaskCreate("Milk"), key=f"as {key}")
            await other.execute(
                f"INSERT INTO {schema}.todo_keys SELECT user_id, $1, body, at, $2, title,"
                f" description, is_completed, created_at FROM {schema}.todo_keys"
                " WHERE request_key = $3",
                key,
                task_id,
                f"as {key}",
            )
            second = asyncio.create_task(tasks.add(ANN, TaskCreate("Milk"), key=key))
            await someone_waits(server)
            assert not second.done()
            await (first.commit() if ends_well else first.rollback())
            await other.close()

            answer = await second
            assert (answer.id == task_id) is ends_well
            assert answer.id != made.id
        assert (await tasks.page(ANN)).total == 3


async def test_a_request_that_failed_leaves_its_key_free(tasks: TaskService) -> None:
    gone = str(uuid4())
    for change in (
        lambda: tasks.complete(ANN, gone, key="k"),
        lambda: tasks.delete(ANN, gone, key="k"),
        lambda: tasks.update(ANN, gone, TaskUpdate("t"), key="k"),
        lambda: tasks.update(ANN, gone, TaskUpdate(), key="k"),
    ):
        with pytest.raises(TaskNotFoundError):
            await change()
    with pytest.raises(InvalidTaskError, match="request_key"):
        await tasks.add(ANN, TaskCreate("t"), key="k" * 256)

    assert (await tasks.add(ANN, TaskCreate("t"), key="k")).title == "t"


async def test_a_key_is_kept_for_a_week(url: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store, now=lambda: now)
        first = await tasks.add(ANN, TaskCreate("t"), key="k")
        now += timedelta(days=7)
        assert await tasks.add(ANN, TaskCreate("t"), key="k") == first
        with pytest.raises(RequestKeyReusedError):
            await tasks.add(ANN, TaskCreate("other"), key="k")
        now += timedelta(seconds=1)

        assert (await tasks.add(ANN, TaskCreate("other"), key="k")).title == "other"
        assert (await tasks.page(ANN)).total == 2


async def test_with_tasks_alone_keys_are_unsupported_and_all_else_works(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    table = {"packs": {"todo_db": {"settings": {"url": server.url(schema)}}}}
    async with hosted(PACK, table) as host:
        envelope = await host.error("todo_db_add_task", user_id="ann", title="t", request_key="k")
        await host.value("todo_db_add_task", user_id="ann", title="t")

    assert envelope["code"] == "unsupported"
    assert envelope["suggestions"] == ["Run `todo-db-mcp migrate` once with the same url"]


async def test_a_database_of_the_first_version_gets_its_keys_by_migrating(
    server: "Server", schema: str
) -> None:
    address = read_url(server.url(schema))
    await migrate(address)
    await server.execute(
        f"SET search_path = {schema}; DROP TABLE todo_keys;"
        " UPDATE todo_db_version SET version_num = '0001'"
    )
    async with open_store(address) as store:
        made = await TaskService(store).add("ann", TaskCreate("t"))
        assert (await TaskService(store).history("ann"))[0].title == "t"
        with pytest.raises(NotKeptError, match="todo-db-mcp migrate"):
            await TaskService(store).add("ann", TaskCreate("t"), key="k")

    assert (await migrate(address)).version == "0001"

    async with open_store(address) as store:
        await TaskService(store).delete("ann", made.id, key="k")
        assert await TaskService(store).delete("ann", made.id, key="k") == made


async def test_an_sqlite_file_of_the_first_version_is_brought_up_as_it_opens(
    tmp_path: Path,
) -> None:
    address = read_url(f"sqlite:///{tmp_path / 'todo.db'}")
    async with open_store(address) as store, store.sessions.begin() as session:
        connection = await session.connection()
        await connection.exec_driver_sql("DROP TABLE todo_keys")
        await connection.exec_driver_sql("UPDATE todo_db_version SET version_num = '0001'")

    async with open_store(address) as store:
        made = await TaskService(store).add("ann", TaskCreate("t"), key="k")
        assert await TaskService(store).add("ann", TaskCreate("t"), key="k") == made
    assert not (await migrate(address)).is_due


async def test_a_model_gives_the_key_and_hears_of_a_conflict(url: str) -> None:
    table = {"packs": {"todo_db": {"settings": {"url": url}}}}
    async with hosted(PACK, table) as host:
        milk = {"user_id": ANN, "title": "Milk", "request_key": "k"}
        first = await host.value("todo_db_add_task", **milk)
        assert await host.value("todo_db_add_task", **milk) == first
        flip = {"user_id": ANN, "task_id": first["task_id"], "request_key": "f"}
        for _ in range(2):
            assert (await host.value("todo_db_complete_task", **flip))["status"] == "completed"
        conflict = await host.error("todo_db_add_task", **{**milk, "title": "Bread"})

    assert (conflict["code"], conflict["details"]["reason"]) == ("conflict", "request_key_reused")


async def someone_waits(server: "Server") -> None:
    """Wait until one of the pack's statements waits for another transaction."""
    connection = await asyncpg.connect(server.admin_url)
    blocked = (
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'todo' AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(60):
        while not await connection.fetchval(blocked):
            pass
    await connection.close()
