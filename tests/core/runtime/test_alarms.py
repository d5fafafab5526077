"""Many alarms share one timer; a limit throws its task out as `asyncio.timeout` does."""

import asyncio
import gc
import weakref

import pytest
from mcp_host.runtime.alarms import Alarms
from mcp_host.runtime.jobs import JobFuture

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_alarms_ring_in_the_order_of_their_times_but_those_cancelled() -> None:
    alarms, rung, last = Alarms(), [], asyncio.Event()
    alarms.call_later(0.03, last.set)
    alarms.call_later(0.02, lambda: rung.append("second"))
    cancelled = alarms.call_later(0.015, lambda: rung.append("cancelled"))
    alarms.call_later(0.01, lambda: rung.append("first"))
    cancelled.cancel()

    await last.wait()

    assert rung == ["first", "second"]


async def test_an_alarm_may_cancel_another_that_is_due_and_set_a_new_one() -> None:
    alarms, rung, last = Alarms(), [], asyncio.Event()
    alarms.call_later(60, lambda: None)
    other = alarms.call_later(0.0, lambda: rung.append("other"))

    def first() -> None:
        other.cancel()
        alarms.call_later(0.0, last.set)

    alarms.call_later(-1.0, first)
    await last.wait()

    assert rung == []


async def test_an_alarm_is_not_lost_among_many_that_are_cancelled() -> None:
    alarms, rung = Alarms(), asyncio.Event()
    alarms.call_later(0.01, rung.set)
    for _ in range(5000):
        alarms.call_later(60, rung.clear).cancel()

    await rung.wait()

    assert len(alarms._heap) < 1000


async def test_a_limit_ends_its_block_once_its_time_is_over_and_the_task_goes_on() -> None:
    scope = Alarms().limit(0.01)
    with pytest.raises(TimeoutError), scope:
        await asyncio.Event().wait()

    assert scope.has_expired
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_limit_of_no_time_ends_its_block_at_the_first_wait() -> None:
    with pytest.raises(TimeoutError), Alarms().limit(0.0):
        await asyncio.Event().wait()


async def test_a_cancellation_by_somebody_else_is_none_by_the_limit() -> None:
    scope = Alarms().limit(60)

    async def wait() -> None:
        with scope:
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not scope.has_expired


async def test_whoever_waits_for_an_outcome_goes_on_within_its_settling() -> None:
    loop = asyncio.get_running_loop()
    outcome: JobFuture[str] = JobFuture(loop=loop)
    told: list[str] = []

    async def wait() -> None:
        told.append(await outcome)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)

    def settle() -> None:
        outcome.settle("the outcome")
        told.append("settled")

    loop.call_soon(settle)
    await task
    assert told == ["the outcome", "settled"]


async def test_a_task_that_waits_for_an_outcome_is_cancelled_as_any_other() -> None:
    outcome: JobFuture[str] = JobFuture(loop=asyncio.get_running_loop())

    async def wait() -> str:
        return await outcome

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert outcome.cancelled()


async def test_an_outcome_that_is_there_already_is_given_at_once() -> None:
    outcome: JobFuture[str] = JobFuture(loop=asyncio.get_running_loop())
    outcome.settle("early")

    assert await outcome == "early"
    assert await asyncio.gather(outcome, outcome) == ["early", "early"]


async def test_a_limit_is_gone_with_its_block_without_the_garbage_collector() -> None:
    alarms = Alarms()
    limit = alarms.limit(60)
    with limit:
        await asyncio.sleep(0)
    kept = weakref.ref(limit)

    gc.disable()
    try:
        del limit
        assert kept() is None
    finally:
        gc.enable()
