"""What a pack does while it opens, while it is open and while it closes."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from mcp_host import PackHandle

from hostile.registry import while_opening
from hostile.ways.errors import Huge, Unsayable

Opening = AsyncIterator[None]


@while_opening()
async def has_no_words() -> Opening:
    """Raises an exception whose text raises, while it opens."""
    raise Unsayable
    yield


@while_opening()
async def has_too_many_words() -> Opening:
    """Raises an exception with a text of 50 MB, while it opens."""
    raise Huge
    yield


@while_opening()
async def exits() -> Opening:
    """Raises SystemExit while it opens."""
    raise SystemExit(4)
    yield


@while_opening()
async def interrupts() -> Opening:
    """Raises KeyboardInterrupt while it opens."""
    raise KeyboardInterrupt
    yield


@while_opening()
async def leaves_as_a_generator() -> Opening:
    """Raises GeneratorExit while it opens."""
    raise GeneratorExit
    yield


@while_opening()
async def waits_for_ever() -> Opening:
    """Waits for ever while it opens."""
    await asyncio.Event().wait()
    yield


@while_opening()
async def blocks_its_loop() -> Opening:
    """Blocks its own loop for ever while it opens."""
    threading.Event().wait()
    yield


@while_opening()
async def does_not_take_no() -> Opening:
    """Goes on waiting when it is told to stop opening."""
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    yield


@while_opening()
async def opens_twice() -> Opening:
    """Yields a second service."""
    yield
    yield


@while_opening()
async def opens_never() -> Opening:
    """Ends without having yielded a service."""
    return
    yield


@while_opening()
async def cancels_itself() -> Opening:
    """Cancels the task that it is opened in."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    yield


@while_opening()
async def stops_its_loop() -> Opening:
    """Stops the event loop that it is opened on, over and over."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.stop()
        loop.call_later(0.001, stop)

    stop()
    yield


@while_opening()
async def closes_its_loop() -> Opening:
    """Closes the event loop that it is opened on from a thread."""
    loop = asyncio.get_running_loop()
    loop.stop()
    threading.Thread(target=_close_when_stopped, args=(loop,), daemon=True).start()
    yield


def _close_when_stopped(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        with suppress(RuntimeError):
            loop.close()
            return


@while_opening()
async def exits_while_closing() -> Opening:
    """Raises SystemExit while it closes."""
    try:
        yield
    finally:
        raise SystemExit(9)


@while_opening()
async def never_closes() -> Opening:
    """Waits for ever while it closes."""
    yield
    await asyncio.Event().wait()


@while_opening()
async def blocks_while_closing() -> Opening:
    """Blocks its own loop for ever while it closes."""
    yield
    threading.Event().wait()


@while_opening()
async def ends_by_itself() -> Opening:
    """Has a background task that dies a moment after it opened."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_dies())
        yield


async def _dies() -> None:
    await asyncio.sleep(0.2)
    raise Unsayable


@while_opening()
async def breaks_its_exception_handler() -> Opening:
    """Has an exception handler on its loop that waits for ever."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *given: threading.Event().wait(60) and None)
    loop.call_soon(int, "no number")
    yield


@while_opening()
async def cancels_all_tasks() -> Opening:
    """Cancels every task of its loop, over and over."""

    def cancel() -> None:
        for task in asyncio.all_tasks():
            task.cancel()

    loop = asyncio.get_running_loop()

    async def again() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
            loop.call_soon(cancel)

    task = loop.create_task(again())
    yield
    del task


@while_opening()
async def says_much_of_itself(pack: PackHandle) -> Opening:
    """Says in 50 MB that it is degraded."""
    pack.degraded("long " * 10_000_000)
    yield


class Slow(str):
    """A text whose every use takes long."""

    def __str__(self) -> str:
        time.sleep(20)
        return "slow"


@while_opening()
async def says_what_is_code(pack: PackHandle) -> Opening:
    """Says that it is degraded and that something changed, in texts that take 20 s to be read."""
    speak: Callable[[], None] = lambda: (pack.changed(Slow("x")), pack.degraded(Slow("x")))[0]  # noqa: E731
    threading.Thread(target=speak, daemon=True).start()
    yield


@while_opening()
async def leaves_a_program() -> Opening:
    """Starts a program that lives on, with every descriptor of the process."""
    import subprocess

    subprocess.Popen(["sleep", "60"], close_fds=False)
    yield


@while_opening()
async def forks() -> Opening:
    """Forks while it opens; the fork lives on."""
    if os.fork() == 0:
        threading.Event().wait(60)
        os._exit(0)
    yield
