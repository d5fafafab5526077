"""What crosses from one thread to another's loop arrives, in order, whatever happens on the way."""

import asyncio
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from mcp_host.runtime.crossing import Crossing

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_many_threads_post_is_called_once_each_in_the_order_of_each() -> None:
    crossing = Crossing(asyncio.get_running_loop())
    heard: list[tuple[int, int]] = []
    all_heard = asyncio.Event()

    def hear(thread: int, number: int) -> None:
        heard.append((thread, number))
        if len(heard) == 4000:
            all_heard.set()

    def post(thread: int) -> None:
        for number in range(1000):
            crossing.post(hear, thread, number)

    threads = [threading.Thread(target=post, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(60):
        await all_heard.wait()

    for one in range(4):
        assert [number for thread, number in heard if thread == one] == list(range(1000))


async def test_one_that_raises_keeps_nobody_from_being_called() -> None:
    loop = asyncio.get_running_loop()
    faults: list[str] = []
    loop.set_exception_handler(lambda _, about: faults.append(str(about["exception"])))
    crossing, heard = Crossing(loop), asyncio.Event()

    def fails() -> None:
        raise ValueError("one")

    def post() -> None:
        crossing.post(fails)
        crossing.post(fails)
        crossing.post(heard.set)

    post()
    async with asyncio.timeout(60):
        await heard.wait()
    assert faults == ["one", "one"]


async def test_what_is_posted_while_it_takes_is_called_as_well() -> None:
    crossing, heard = Crossing(asyncio.get_running_loop()), asyncio.Event()
    crossing.post(crossing.post, crossing.post, heard.set)

    async with asyncio.timeout(60):
        await heard.wait()


async def test_a_loop_is_woken_after_the_turn_of_the_one_that_posts() -> None:
    here, there = asyncio.get_running_loop(), asyncio.new_event_loop()
    other = threading.Thread(target=there.run_forever)
    other.start()
    crossing, back = Crossing(there), Crossing(here)
    heard: list[int] = []
    done = asyncio.Event()
    for number in range(3):
        crossing.post(heard.append, number, after=here)
    crossing.post(back.post, done.set)

    async with asyncio.timeout(60):
        await done.wait()
    assert heard == [0, 1, 2]
    there.call_soon_threadsafe(there.stop)
    await asyncio.to_thread(other.join)
    crossing.close()
    there.close()
    crossing.post(heard.append, 3)  # silent: nobody hears it
    assert heard == [0, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such descriptors")
async def test_a_pack_that_closes_what_wakes_a_loop_keeps_nothing_from_it() -> None:
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    crossing, heard = Crossing(asyncio.get_running_loop()), asyncio.Event()
    for number in {path.name for path in Path("/proc/self/fd").iterdir()} - before:
        with suppress(OSError):  # that of the folder itself is closed
            os.close(int(number))

    await asyncio.to_thread(crossing.post, heard.set)

    async with asyncio.timeout(60):
        await heard.wait()
    crossing.close()
