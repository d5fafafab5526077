"""A pack's loop is woken on the processor of who wakes it, and runs wherever there is room."""

import os
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest
from core_home import Hosting
from mcp_host import hookimpl, tool

if sys.platform == "linux":
    from mcp_host.runtime.affinity import WakeAffinity

PROCESSORS = os.sched_getaffinity(0) if sys.platform == "linux" else frozenset({0})

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(len(PROCESSORS) < 2, reason="there is nowhere else to wake"),
]


class Waiting:
    """A thread that waits until it is let on, and says what processors it may have then."""

    def __init__(self) -> None:
        self.affinity = WakeAffinity()
        self.thread = 0
        self._lets_on = queue.SimpleQueue[bool]()
        self._says = queue.SimpleQueue[set[int]]()
        self._runs = threading.Thread(target=self._run)
        self._runs.start()
        self._says.get()

    def _run(self) -> None:
        self.thread = threading.get_native_id()
        self.affinity.begin()
        once_more = True
        while once_more:
            self.affinity.wait()
            self._says.put(os.sched_getaffinity(0))
            once_more = self._lets_on.get()
            self.affinity.go_on()
        self._says.put(os.sched_getaffinity(0))

    def wait_again(self) -> set[int]:
        """Let it go on and wait once more; return on which processors."""
        self._lets_on.put(True)
        return self._says.get()

    def end(self) -> set[int]:
        """Let it go on for good; return on which processors."""
        self._lets_on.put(False)
        self._runs.join()
        return self._says.get()


@contextmanager
def on(processors: set[int]) -> Iterator[None]:
    """Have this thread run there."""
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, PROCESSORS)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("here", sorted(PROCESSORS)[:2])
async def test_a_thread_that_waits_is_drawn_to_the_processor_of_who_wakes_it(here: int) -> None:
    waiting = Waiting()
    with on({here}):
        waiting.affinity.draw_here()

    assert os.sched_getaffinity(waiting.thread) == {here}
    assert waiting.end() == PROCESSORS


async def test_what_somebody_else_decides_meanwhile_stays() -> None:
    first, second = sorted(PROCESSORS)[:2]
    bound, drawn = Waiting(), Waiting()
    with on({first}):
        os.sched_setaffinity(bound.thread, {second})
        bound.affinity.draw_here()
        bound.affinity.draw_here()
        drawn.affinity.draw_here()
        os.sched_setaffinity(drawn.thread, {second})

    assert os.sched_getaffinity(0) == PROCESSORS
    assert (bound.end(), drawn.end()) == ({second}, {second})


async def test_a_thread_of_some_processors_keeps_to_them() -> None:
    one = {min(PROCESSORS)}
    with on(one):
        waiting = Waiting()
    waiting.affinity.draw_here()

    assert os.sched_getaffinity(waiting.thread) == one
    assert waiting.end() == one


@tool
async def where() -> list[list[int]]:
    """Say where this runs, and what it starts."""
    found = [sorted(os.sched_getaffinity(0))]
    started = threading.Thread(target=lambda: found.append(sorted(os.sched_getaffinity(0))))
    started.start()
    started.join()
    return found


@hookimpl
def mcp_host_tools() -> list[object]:
    return [where]


async def test_what_a_pack_runs_and_starts_may_have_every_processor(
    hosted_in_threads: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = ModuleType("affinity_pack")
    pack.mcp_host_tools = mcp_host_tools  # type: ignore[attr-defined]  # a new module
    monkeypatch.setitem(sys.modules, "affinity_pack", pack)
    async with hosted_in_threads({"affinity": "affinity_pack"}) as host:
        for _ in range(50):
            assert await host.value("affinity_where") == [sorted(PROCESSORS)] * 2
