"""What a pack's functions do while they are called."""

import asyncio
import itertools
import threading
import time
from contextlib import suppress
from typing import Annotated

from mcp_host import Ask, Context

from hostile.registry import HOLDS, in_call


@in_call()
def waits_for_ever() -> None:
    """Waits for ever in a thread."""
    threading.Event().wait()


@in_call()
async def blocks_its_loop() -> None:
    """Blocks its own loop for ever."""
    threading.Event().wait()


@in_call(times=8)
def spins() -> None:
    """Computes for ever in Python, in eight calls at once."""
    while True:
        pass


@in_call()
async def spins_on_its_loop() -> None:
    """Computes for ever in Python, on its loop."""
    while True:
        pass


@in_call(times=60)
def never_comes_back() -> None:
    """Waits for ever, in 60 calls at once."""
    threading.Event().wait()


@in_call()
async def does_not_take_no() -> None:
    """Goes on when it is cancelled."""
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


@in_call()
async def takes_cancelling_for_an_answer() -> str:
    """Returns an answer when it is cancelled."""
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "too late"
    return "never"


@in_call()
async def cancels_all_tasks() -> None:
    """Cancels every task of its loop."""
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(1)


@in_call()
def recurses() -> None:
    """Calls itself without an end."""
    recurses()


@in_call()
def stops_its_loop_from_outside() -> None:
    """Makes an event loop in its thread and leaves it running there for ever."""
    asyncio.run(asyncio.Event().wait())


@in_call()
async def leaves_tasks() -> str:
    """Leaves 10,000 tasks that never end."""
    loop = asyncio.get_running_loop()
    KEPT.extend(loop.create_task(asyncio.sleep(3600)) for _ in range(10_000))
    return "done"


KEPT: list[object] = []


@in_call()
async def floods_its_own_loop() -> None:
    """Has its loop call a function without an end, each call by the next."""
    loop = asyncio.get_running_loop()

    loop.call_soon(_again_and_again, loop)
    await asyncio.Event().wait()


def _again_and_again(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon(_again_and_again, loop)


def _waits_to_ask() -> bool:
    time.sleep(60)
    return True


@in_call()
def takes_long_to_ask(sure: Annotated[bool, Ask(_waits_to_ask)]) -> None:
    """Has a question whose function takes a minute."""


def _asks_nonsense() -> object:
    return itertools.count()


@in_call()
def asks_nonsense(sure: Annotated[bool, Ask(_asks_nonsense)]) -> None:
    """Has a question whose function gives numbers without an end."""


@in_call()
def uses_its_context_later(context: Context) -> str:
    """Has a thread that tells of progress, changes and logs long after the answer."""

    def speaks() -> None:
        for number in itertools.count():
            context.progress(number, message="still here")
            context.log("error", "still here")
            context.changed("hostile://later")
            time.sleep(0.001)

    threading.Thread(target=speaks, daemon=True).start()
    return "done"


@in_call(HOLDS)
def computes_in_c() -> None:
    """Computes for ever in C, holding the interpreter."""
    sum(itertools.repeat(0))


@in_call(HOLDS)
def sleeps_in_c() -> None:
    """Sleeps for 4 s in C without letting go of the interpreter."""
    import ctypes

    ctypes.PyDLL(None).usleep(4_000_000)


@in_call(HOLDS)
def matches_for_ever() -> None:
    """Has a regular expression go back and forth for ever."""
    import re

    re.match("(a+)+$", "a" * 40 + "b")
