"""Work goes on in the same context when the task that awaits it is let go."""

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar

import pytest
from mcp_host.runtime.detachable import Detachable
from mcp_host.runtime.jobs import JobFuture

pytestmark = pytest.mark.anyio
WHERE: ContextVar[str] = ContextVar("where", default="nowhere")


@pytest.mark.parametrize("kind", [asyncio.Future, JobFuture])
async def test_work_goes_on_in_its_context_once_its_task_is_let_go(
    kind: type[asyncio.Future[str]],
) -> None:
    loop = asyncio.get_running_loop()
    gate, done = kind(loop=loop), loop.create_future()
    settle = gate.settle if isinstance(gate, JobFuture) else gate.set_result

    async def work() -> str:
        token = WHERE.set("inside")
        try:
            return f"{await gate} {WHERE.get()}"
        finally:
            WHERE.reset(token)  # which another context would refuse

    async def go_on(rest: Awaitable[str]) -> str:
        return f"later: {await rest}"

    detachable = Detachable(work())

    async def awaiting() -> str:
        return await detachable

    task = asyncio.create_task(awaiting())
    loop.call_later(0, lambda: done.set_result(detachable.detach(go_on, "let go")))
    rest = await done

    assert task.done()
    assert task.result() == "let go"
    loop.call_soon(settle, "opened")
    assert await rest == "later: opened inside"


async def test_work_that_is_about_to_go_on_is_not_detached_and_ends_in_its_task() -> None:
    loop = asyncio.get_running_loop()
    gate, tried = loop.create_future(), []

    async def work() -> str:
        return str(await gate)

    async def go_on(rest: Awaitable[str]) -> str:
        return await rest

    async def through(ended: str | BaseException) -> str:
        return f"{ended}, at last"

    detachable = Detachable(work())

    async def awaiting() -> str:
        return await detachable

    def at_the_same_moment() -> None:
        gate.set_result("opened")
        tried.append(detachable.detach(go_on, "let go"))

    task = asyncio.create_task(awaiting())
    detachable.through = through
    loop.call_later(0, at_the_same_moment)

    assert await task == "opened, at last"
    assert tried == [None]
