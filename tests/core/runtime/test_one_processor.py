"""While many short calls run, threads that take turns share a processor; what they start, none."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import ModuleType

import pytest
from core_home import Hosting
from mcp_host import hookimpl, tool
from mcp_host.runtime.interval import LONG
from mcp_host.runtime.switching import MANY, SwitchInterval
from mcp_host.runtime.thread_worker import ThreadWorker
from mcp_host.testing import Hosted

if sys.platform == "linux":
    from mcp_host.runtime.one_processor import LOOKS, UNHEARD

PROCESSORS = os.sched_getaffinity(0) if sys.platform == "linux" else frozenset({0})
PROGRAM = "import os; print(sorted(os.sched_getaffinity(0)))"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(len(PROCESSORS) < 2, reason="there is but one processor"),
]
OVER = [asyncio.Event()]
"""What the calls of the running test wait for is the last."""
ENDED = threading.Event()


@tool
async def wait() -> None:
    """Wait until all is over."""
    await OVER[-1].wait()


@tool
async def where() -> list[int]:
    """Say where this may run."""
    return sorted(os.sched_getaffinity(0))


@tool
async def program(kind: str) -> str:
    """Start a program that says where it may run."""
    if kind == "asyncio":
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, stdout=subprocess.PIPE
        )
        return (await process.communicate())[0].decode()
    if kind == "subprocess":
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True
        ).stdout
    read, write = os.pipe()
    if kind == "os.posix_spawn":
        argv = [sys.executable, "-c", PROGRAM]
        out = (os.POSIX_SPAWN_DUP2, write, 1)
        child = os.posix_spawn(sys.executable, argv, dict(os.environ), file_actions=[out])
    else:
        child = os.fork()
        if not child:
            os.write(write, b"%a" % sorted(os.sched_getaffinity(0)))
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, encoding="ascii") as said:
        return said.read()


@tool
async def thread() -> int:
    """Start a thread that goes on; its number in the system."""
    started = threading.Event()
    numbers = []

    def run() -> None:
        numbers.append(threading.get_native_id())
        started.set()
        ENDED.wait()

    threading.Thread(target=run).start()
    started.wait()
    return numbers[0]


@hookimpl
def mcp_host_tools() -> list[object]:
    return [wait, where, program, thread]


class BoundThread:
    """A thread that is bound to one processor until it ends."""

    def __init__(self, processor: int) -> None:
        self._over = threading.Event()
        bound = threading.Event()

        def run() -> None:
            os.sched_setaffinity(0, {processor})
            bound.set()
            self._over.wait()

        self._thread = threading.Thread(target=run)
        self._thread.start()
        bound.wait()

    def processors(self) -> set[int]:
        assert self._thread.native_id is not None
        return os.sched_getaffinity(self._thread.native_id)

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def among_many_calls(
    hosting: Hosting, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Hosted, SwitchInterval]]:
    """A host with a pack, many calls of which wait, so that threads are held."""
    pack = ModuleType("held_pack")
    pack.mcp_host_tools = mcp_host_tools  # type: ignore[attr-defined]  # a new module
    monkeypatch.setitem(sys.modules, "held_pack", pack)
    for name in UNHEARD:  # another test may have started programs so
        monkeypatch.delitem(sys.modules, name, raising=False)
    async with hosting({"held": "held_pack"}) as host:
        worker = host.host.running["held"].worker
        assert isinstance(worker, ThreadWorker) and worker.loop is not None
        loop = worker.loop
        interval = SwitchInterval(LONG / 10, lambda: [loop])
        OVER.append(asyncio.Event())
        calls = [asyncio.create_task(host.value("held_wait")) for _ in range(MANY)]
        try:
            await until(lambda: interval.look() == LONG)
            yield host, interval
        finally:
            loop.post(OVER[-1].set)
            await asyncio.gather(*calls)
            assert interval.look() < LONG
            assert os.sched_getaffinity(0) == PROCESSORS
            assert await host.value("held_where") == sorted(PROCESSORS)


async def until(holds: Callable[[], bool]) -> None:
    """Ask again and again, a moment apart."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)


async def test_the_hosts_thread_and_a_packs_share_a_processor_while_many_calls_run(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (host, _):
        mine = os.sched_getaffinity(0)

        assert len(mine) == 1
        for _ in range(3):
            assert await host.value("held_where") == sorted(mine)


@pytest.mark.parametrize("kind", ["subprocess", "asyncio", "os.posix_spawn", "os.fork"])
async def test_a_program_that_a_pack_starts_meanwhile_may_have_every_processor(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (host, interval):
        found = await host.value("held_program", kind=kind)
        await until(lambda: interval.look() == LONG)

        assert found.strip() == str(sorted(PROCESSORS))
        assert len(await host.value("held_where")) == 1


async def test_a_thread_that_a_pack_starts_meanwhile_may_have_every_processor_after_a_look(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (host, interval):
        number = await host.value("held_thread")
        try:
            interval.look()

            assert os.sched_getaffinity(number) == PROCESSORS
        finally:
            ENDED.set()


async def test_now_and_then_the_system_may_choose_the_processor_anew(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (_, interval):
        held = []
        for _ in range(3 * LOOKS):
            await until(lambda: interval.look() == LONG)
            held.append(len(os.sched_getaffinity(0)))

        assert {1, len(PROCESSORS)} == set(held)


async def test_where_somebody_else_decides_meanwhile_a_thread_stays(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (_, interval):
        (mine,) = os.sched_getaffinity(0)
        elsewhere = {max(PROCESSORS - {mine})}
        os.sched_setaffinity(0, elsewhere)
        try:
            for _ in range(2 * LOOKS):
                interval.look()
                assert os.sched_getaffinity(0) == elsewhere
        finally:
            os.sched_setaffinity(0, PROCESSORS)


async def test_a_thread_that_somebody_has_bound_to_the_same_processor_stays_there(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = {each: BoundThread(each) for each in PROCESSORS}
    try:
        async with among_many_calls(hosted_in_threads, monkeypatch) as (_, interval):
            for _ in range(2 * LOOKS):
                interval.look()

        assert all(thread.processors() == {each} for each, thread in bound.items())
    finally:
        for thread in bound.values():
            thread.end()


async def test_nothing_is_held_once_multiprocessing_may_start_programs_unheard(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with among_many_calls(hosted_in_threads, monkeypatch) as (_, interval):
        name = "multiprocessing.popen_spawn_posix"
        monkeypatch.delitem(sys.modules, name, raising=False)
        __import__(name)
        at_once = os.sched_getaffinity(0)
        interval.look()

        assert at_once == os.sched_getaffinity(0) == PROCESSORS
        monkeypatch.delitem(sys.modules, name)
