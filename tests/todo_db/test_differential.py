"""What the service answers is what `TaskRead` and `AsyncSessionLocal` make of the same table."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp_host_todo_db.errors import TaskNotFoundError
from mcp_host_todo_db.model import MAX_TOTAL, TaskCreate, TaskRead, TaskUpdate
from mcp_host_todo_db.service import COMPLETED_IN, TaskService
from mcp_host_todo_db.storage import TaskStore, create_tables, open_store, read_url
from sqlalchemy import delete, func, insert, select

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

OWNERS = ("ann", "bob")
TEXT = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20
).filter(str.strip)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(OWNERS), TEXT, st.none() | TEXT),
        st.tuples(st.just("flip"), st.integers(0, 5)),
        st.tuples(st.just("set"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("update"), st.integers(0, 5), st.none() | TEXT, st.none() | TEXT),
        st.tuples(st.just("clear"), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("steal"), st.integers(0, 5)),
    ),
    max_size=14,
)
TABLES = {
    "sqlite": None,
    "postgres": None,
    "postgres, made by another program": (
        "id char(32) PRIMARY KEY, user_id varchar NOT NULL, title varchar NOT NULL,"
        " description text, is_completed boolean NOT NULL, created_at timestamp NOT NULL,"
        " updated_at timestamp NOT NULL, priority int NOT NULL DEFAULT 1"
    ),
}


@pytest.fixture(params=TABLES)
async def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A database with a table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'todo.db'}"
    server: Server = request.getfixturevalue("server")
    schema = await server.schema()
    columns = TABLES[request.param]
    if columns is None:
        await create_tables(read_url(server.url(schema)))
    else:
        await server.execute(
            f"CREATE TABLE {schema}.tasks ({columns}); GRANT ALL ON {schema}.tasks TO todo"
        )
    return server.url(schema)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, limit=st.integers(1, 4))
async def test_every_answer_is_the_one_of_a_session(
    url: str, steps: list[tuple[Any, ...]], limit: int
) -> None:
    async with open_store(read_url(url)) as store:
        async with store.sessions.begin() as session:
            await session.execute(delete(store.table))
        clock = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
        times = iter(clock + timedelta(seconds=n // 2) for n in range(1000))
        tasks = TaskService(store, now=lambda: next(times))
        made: list[tuple[str, str]] = []
        for step in steps:
            answer = await taken(tasks, made, step)
            if answer is None:
                continue
            kept = {task.id: task for owner in OWNERS for task in await session_list(store, owner)}
            assert kept.get(answer.id) == (None if step[0] == "delete" else answer)
        for owner in OWNERS:
            for status in COMPLETED_IN:
                assert await paged(tasks, owner, status, limit) == [
                    task
                    for task in await session_list(store, owner)
                    if COMPLETED_IN[status] in (None, task.is_completed)
                ]


async def taken(
    tasks: TaskService, made: list[tuple[str, str]], step: tuple[Any, ...]
) -> TaskRead | None:
    """The service's answer to a step; None where it answers that there is no such task."""
    kind, *rest = step
    if kind == "add":
        owner, title, description = rest
        task = await tasks.add(owner, TaskCreate(title, description))
        made.append((owner, task.id))
        return task
    if not made:
        return None
    owner, task_id = made[rest[0] % len(made)]
    use: dict[str, Callable[[], Awaitable[TaskRead]]] = {
        "flip": lambda: tasks.complete(owner, task_id),
        "set": lambda: tasks.complete(owner, task_id, completed=rest[1]),
        "update": lambda: tasks.update(owner, task_id, TaskUpdate(rest[1], rest[2])),
        "clear": lambda: tasks.update(owner, task_id, TaskUpdate(description="")),
        "delete": lambda: tasks.delete(owner, task_id),
        "steal": lambda: tasks.delete("".join({*OWNERS} - {owner}), task_id),
    }
    try:
        return await use[kind]()
    except TaskNotFoundError:
        return None


async def paged(tasks: TaskService, owner: str, status: Any, limit: int) -> list[TaskRead]:
    seen: list[TaskRead] = []
    cursor, totals = None, set()
    while True:
        page = await tasks.page(owner, status, limit=limit, cursor=cursor)
        seen += page.tasks
        totals.add(page.total)
        if page.next is None:
            assert totals == {len(seen)}
            return seen
        cursor = page.next.cursor


async def session_list(store: TaskStore, owner: str) -> list[TaskRead]:
    """A user's tasks, newest first, by way of SQLAlchemy."""
    columns = store.table.c
    async with store.sessions() as session:
        rows = await session.execute(
            select(
                columns.id,
                columns.title,
                columns.description,
                columns.is_completed,
                columns.created_at,
            )
            .where(columns.user_id == owner)
            .order_by(columns.created_at.desc(), columns.id.desc())
        )
        return [TaskRead(*row) for row in rows]


async def test_a_session_that_is_rolled_back_leaves_nothing(url: str) -> None:
    async with open_store(read_url(url)) as store:
        now = datetime.now(UTC)
        async with store.sessions() as session:
            await session.execute(
                insert(store.table).values(
                    id=str(uuid4()),
                    user_id="ann",
                    title="t",
                    is_completed=False,
                    created_at=now,
                    updated_at=now,
                )
            )
            assert await session.scalar(select(func.count()).select_from(store.table)) == 1
            await session.rollback()

        assert (await TaskService(store).page("ann")).total == 0


async def test_totals_are_exact_to_ten_thousand_and_then_say_that_there_are_more(url: str) -> None:
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        start = datetime(2026, 1, 2, tzinfo=UTC)
        rows = [
            {
                "id": str(uuid4()),
                "user_id": "ann",
                "title": str(n),
                "description": None,
                "is_completed": n == 0,
                "created_at": start + timedelta(seconds=n),
                "updated_at": start,
            }
            for n in range(MAX_TOTAL + 1)
        ]
        async with store.sessions.begin() as session:
            await session.execute(insert(store.table), rows)

        first = await tasks.page("ann", limit=2)
        assert first.next is not None
        second = await tasks.page("ann", limit=2, cursor=first.next.cursor)
        for page in (first, second):
            assert (page.total, page.more_than_total) == (MAX_TOTAL, True)
        pending = await tasks.page("ann", "pending", limit=2)
        assert (pending.total, pending.more_than_total) == (MAX_TOTAL, False)
        (done,) = (await tasks.page("ann", "completed")).tasks
        await tasks.delete("ann", done.id)
        page = await tasks.page("ann", limit=2)
        assert (page.total, page.more_than_total) == (MAX_TOTAL, False)
