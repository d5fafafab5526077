"""Tasks that begin at once behave as others do, but that they have begun."""

import asyncio
import contextvars
import inspect

import anyio
import pytest
from mcp_host.runtime import eager

pytestmark = pytest.mark.anyio
variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="outer")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_comes_before_the_first_wait_is_done_at_once() -> None:
    done, gate = [], asyncio.Event()

    async def work() -> str:
        done.append("before")
        await gate.wait()
        done.append("after")
        return "result"

    task = eager.start(work())
    assert done == ["before"]
    gate.set()
    assert await task == "result"
    assert done == ["before", "after"]


async def test_work_that_never_waits_gives_its_result() -> None:
    async def work() -> str:
        return "result"

    assert await eager.start(work()) == "result"


async def test_what_the_work_raises_is_raised_by_its_task() -> None:
    async def work() -> None:
        raise KeyError("here")

    task = eager.start(work())
    with pytest.raises(KeyError, match="here"):
        await task


async def test_the_task_is_the_current_one_from_the_beginning_and_the_outer_one_again() -> None:
    outer, seen = asyncio.current_task(), []

    async def work() -> None:
        seen.append(asyncio.current_task())
        async with asyncio.timeout(15):
            await asyncio.sleep(0)
        seen.append(asyncio.current_task())

    task = eager.start(work())
    assert asyncio.current_task() is outer
    await task
    assert seen == [task, task]


async def test_what_the_work_sets_in_its_context_stays_there() -> None:
    async def work() -> str:
        variable.set("inner")
        await asyncio.sleep(0)
        return variable.get()

    assert await eager.start(work()) == "inner"
    assert variable.get() == "outer"


async def test_a_task_that_is_cancelled_at_once_cancels_what_it_waits_for() -> None:
    inner = asyncio.ensure_future(asyncio.Event().wait())
    heard = []

    async def work() -> None:
        try:
            await inner
        except asyncio.CancelledError as error:
            heard.append(error.args)
            raise

    task = eager.start(work())
    task.cancel("why")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.cancelled()
    assert len(heard) == 1


async def test_a_task_that_is_cancelled_at_once_while_it_waits_for_a_turn_hears_it() -> None:
    heard = []

    async def work() -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    task = eager.start(work())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["cancelled"]


async def test_work_that_has_ended_is_not_cancelled_any_more() -> None:
    async def work() -> str:
        return "result"

    task = eager.start(work())
    task.cancel()
    assert await task == "result"


async def test_work_that_survives_its_cancellation_goes_on() -> None:
    gate = asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await gate.wait()
        return "survived"

    task = eager.start(work())
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await task == "survived"


async def test_a_scope_of_anyio_ends_work_that_began_at_once() -> None:
    async def work() -> str:
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            group.cancel_scope.cancel()
        return "done"

    assert await eager.start(work()) == "done"


async def test_the_coroutine_of_the_task_can_be_inspected() -> None:
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()

    task = eager.start(work())
    coroutine = task.get_coro()
    assert coroutine is not None
    assert coroutine.__qualname__ == work.__qualname__
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_SUSPENDED  # type: ignore[arg-type]  # what stands for one
    gate.set()
    await task
