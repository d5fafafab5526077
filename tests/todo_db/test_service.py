"""What can be done with tasks, alike on SQLite and on PostgreSQL."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from mcp_host_todo_db.errors import (
    BadCursorError,
    InvalidTaskError,
    NotYourTasksError,
    TaskNotFoundError,
)
from mcp_host_todo_db.model import Position, TaskCreate, TaskPage, TaskRead, TaskUpdate
from mcp_host_todo_db.service import TaskService

pytestmark = pytest.mark.anyio

OpenService = Callable[..., Awaitable[TaskService]]

ANN, BOB = "abc-123", "xyz-456"


async def added(tasks: TaskService, title: str, user_id: str = ANN) -> TaskRead:
    return await tasks.add(user_id, TaskCreate(title))


async def test_a_task_is_read_back_as_it_was_added(tasks: TaskService) -> None:
    before = datetime.now(UTC)

    made = await tasks.add(ANN, TaskCreate("Buy groceries 🥚", "Milk, eggs,\nbread"))

    page = await tasks.page(ANN)
    assert page == TaskPage((made,), 1, None)
    assert (made.title, made.description) == ("Buy groceries 🥚", "Milk, eggs,\nbread")
    assert not made.is_completed
    assert before <= made.created_at <= datetime.now(UTC)


async def test_an_empty_description_is_none(tasks: TaskService) -> None:
    made = await tasks.add(ANN, TaskCreate("Quick note", ""))

    assert made.description is None
    assert (await tasks.page(ANN)).tasks[0].description is None


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("", "title is required: it must not be empty"),
        (" \n", "title is required: it must not be empty"),
        ("x" * 256, "title must be at most 255 characters long, not 256"),
        ("a\0b", "title must not hold a NUL character"),
        ("a\ud800b", "title must not hold a lone surrogate"),
    ],
)
def test_no_task_can_have_a_title_that_says_nothing_or_cannot_be_kept(
    title: str, message: str
) -> None:
    for make in (TaskCreate, TaskUpdate):
        with pytest.raises(InvalidTaskError) as caught:
            make(title)
        assert str(caught.value) == message
        assert caught.value.details == {"reason": "invalid_value", "field": "title"}


async def test_texts_of_the_greatest_length_are_kept_whole(tasks: TaskService) -> None:
    await tasks.add("u" * 255, TaskCreate("🥚" * 255, "é" * 10_000))

    (task,) = (await tasks.page("u" * 255)).tasks
    assert (task.title, task.description) == ("🥚" * 255, "é" * 10_000)
    with pytest.raises(
        InvalidTaskError, match="description must be at most 10000 characters long, not 10001"
    ):
        TaskCreate("t", "é" * 10_001)


async def test_a_list_is_filtered_by_state(tasks: TaskService) -> None:
    done = await added(tasks, "done")
    await added(tasks, "open")
    await tasks.complete(ANN, done.id)

    titles = {
        status: [task.title for task in (await tasks.page(ANN, status)).tasks]
        for status in ("all", "pending", "completed")
    }

    assert titles == {"all": ["open", "done"], "pending": ["open"], "completed": ["done"]}


async def test_pages_show_every_task_once_newest_first_even_those_of_one_instant(
    database_url: str, tasks: TaskService, open_service: OpenService
) -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)
    clock = iter(start + timedelta(seconds=n // 5) for n in range(23))
    timed = await open_service(database_url, now=lambda: next(clock))
    made = [await added(timed, str(n)) for n in range(23)]
    await added(tasks, "somebody else's", BOB)

    seen: list[TaskRead] = []
    cursor = None
    while True:
        page = await tasks.page(ANN, limit=4, cursor=cursor)
        assert page.total == 23
        assert len(page.tasks) <= 4
        seen += page.tasks
        if page.next is None:
            break
        cursor = page.next.cursor

    assert seen == sorted(made, key=lambda task: (task.created_at, task.id), reverse=True)


async def test_a_page_goes_on_behind_a_task_that_is_gone(tasks: TaskService) -> None:
    made = [await added(tasks, str(n)) for n in range(4)]
    first = await tasks.page(ANN, limit=2)
    assert first.next
    await tasks.delete(ANN, first.tasks[-1].id)
    await added(tasks, "new")

    rest = await tasks.page(ANN, limit=2, cursor=first.next.cursor)

    assert [task.id for task in rest.tasks] == [made[1].id, made[0].id]


SURROGATES = [
    Position("2026-01-02T03:04:05+00:00", "\ud800").cursor,
    Position("2026-01-02\ud80003:04:05+00:00", "a").cursor,
]


@pytest.mark.parametrize(
    "cursor", ["", "x", "bm90IGpzb24", "WzEsMl0", "é" * 10, "W" * 999, *SURROGATES]
)
async def test_a_cursor_that_no_page_ended_with_is_refused(tasks: TaskService, cursor: str) -> None:
    with pytest.raises(BadCursorError):
        await tasks.page(ANN, cursor=cursor)


async def test_completing_flips_the_state_and_setting_it_is_safe_to_repeat(
    tasks: TaskService,
) -> None:
    task = await added(tasks, "t")

    flips = [(await tasks.complete(ANN, task.id)).is_completed for _ in range(3)]
    sets = [(await tasks.complete(ANN, task.id, completed=True)).is_completed for _ in range(2)]
    reset = await tasks.complete(ANN, task.id, completed=False)

    assert flips == [True, False, True]
    assert sets == [True, True]
    assert not reset.is_completed


async def test_concurrent_flips_are_never_lost(
    database_url: str, tasks: TaskService, open_service: OpenService
) -> None:
    task = await added(tasks, "t")
    services = [tasks, await open_service(database_url), await open_service(database_url)]

    answers = await asyncio.gather(*(services[n % 3].complete(ANN, task.id) for n in range(60)))

    assert Counter(answer.is_completed for answer in answers) == {True: 30, False: 30}
    assert not (await tasks.page(ANN)).tasks[0].is_completed


async def test_an_update_changes_what_is_given_and_nothing_else(tasks: TaskService) -> None:
    task = await tasks.add(ANN, TaskCreate("Buy groceries", "Milk"))
    other = await added(tasks, "other")

    titled = await tasks.update(ANN, task.id, TaskUpdate(title="Buy fruits"))
    described = await tasks.update(ANN, task.id, TaskUpdate(description="Organic"))
    cleared = await tasks.update(ANN, task.id, TaskUpdate(description=""))
    untouched = await tasks.update(ANN, task.id, TaskUpdate())

    assert (titled.title, titled.description) == ("Buy fruits", "Milk")
    assert (described.title, described.description) == ("Buy fruits", "Organic")
    assert (cleared.title, cleared.description) == ("Buy fruits", None)
    assert untouched == cleared
    assert (await tasks.page(ANN)).tasks == (other, cleared)


async def test_a_deleted_task_is_gone(tasks: TaskService) -> None:
    task = await added(tasks, "t")

    assert await tasks.delete(ANN, task.id) == task

    assert (await tasks.page(ANN)).tasks == ()
    with pytest.raises(TaskNotFoundError):
        await tasks.delete(ANN, task.id)


@pytest.mark.parametrize("operation", ["complete", "update", "read", "delete"])
async def test_a_task_of_somebody_else_is_not_found_and_stays_as_it_is(
    tasks: TaskService, operation: str
) -> None:
    theirs = await added(tasks, "theirs", BOB)
    use: dict[str, Callable[[str], Awaitable[object]]] = {
        "complete": lambda id: tasks.complete(ANN, id),
        "update": lambda id: tasks.update(ANN, id, TaskUpdate(title="mine")),
        "read": lambda id: tasks.update(ANN, id, TaskUpdate()),
        "delete": lambda id: tasks.delete(ANN, id),
    }

    for task_id in (theirs.id, str(uuid4()), "task-uuid-1", "", "1" * 5000, "a\0b"):
        with pytest.raises(TaskNotFoundError, match=r"^Task not found or access denied$"):
            await use[operation](task_id)

    assert (await tasks.page(BOB)).tasks == (theirs,)


async def test_a_known_caller_uses_their_own_tasks_alone(tasks: TaskService) -> None:
    theirs = await added(tasks, "theirs", BOB)

    with pytest.raises(NotYourTasksError):
        await tasks.add(BOB, TaskCreate("t"), caller=ANN)
    with pytest.raises(NotYourTasksError):
        await tasks.page(BOB, caller=ANN)
    for use in (
        tasks.complete(BOB, theirs.id, caller=ANN),
        tasks.update(BOB, theirs.id, TaskUpdate(title="mine"), caller=ANN),
        tasks.delete(BOB, theirs.id, caller=ANN),
    ):
        with pytest.raises(TaskNotFoundError):
            await use

    assert (await tasks.page(BOB, caller=BOB)).tasks == (theirs,)


async def test_a_user_fixed_in_the_settings_is_the_only_one(
    database_url: str, tasks: TaskService, open_service: OpenService
) -> None:
    fixed = await open_service(database_url, only_user=ANN)

    await fixed.add(ANN, TaskCreate("mine"))

    with pytest.raises(NotYourTasksError):
        await fixed.page(BOB)
    with pytest.raises(NotYourTasksError):
        await fixed.page(ANN, caller=BOB)


@pytest.mark.parametrize("user_id", ["", "  ", "u" * 256, "a\0b", "\udfff"])
async def test_a_user_id_that_cannot_be_kept_is_refused_by_every_operation(
    tasks: TaskService, user_id: str
) -> None:
    for use in (
        tasks.add(user_id, TaskCreate("t")),
        tasks.page(user_id),
        tasks.complete(user_id, str(uuid4())),
        tasks.update(user_id, str(uuid4()), TaskUpdate()),
        tasks.delete(user_id, str(uuid4())),
    ):
        with pytest.raises(InvalidTaskError, match=r"^user_id "):
            await use


async def test_a_change_cancelled_at_any_moment_keeps_nobody_waiting(tasks: TaskService) -> None:
    made = await added(tasks, "t")

    for steps in range(30):
        running = asyncio.create_task(tasks.complete(ANN, made.id, completed=True))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        async with asyncio.timeout(3):
            reset = await tasks.complete(ANN, made.id, completed=False)
        assert not reset.is_completed
