"""A pack that opens well and whose tools do what no tool should."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from threading import current_thread
from typing import Annotated

from mcp_host import hookimpl, prompt, resource, tool
from pydantic import AfterValidator

print("printed while it was imported")
os.write(1, b"written while it was imported\n")


class Melt(BaseException):
    """Not an Exception, so that `except Exception` lets it pass."""


@tool
def exits() -> str:
    """End the process, as far as a pack can."""
    sys.exit(3)


@tool
async def exits_async() -> str:
    """As {tool:exits}, on the pack's loop."""
    sys.exit(3)


@tool
def melts() -> str:
    """Raise what is no Exception."""
    raise Melt("melted")


@tool
async def melts_async() -> str:
    """As {tool:melts}, on the pack's loop."""
    raise Melt("melted")


@tool
def stops() -> str:
    """Let an exhausted iterator's exception pass."""
    return next(iter(()))


@tool
async def cancels_itself() -> str:
    """Cancel the task that it runs in."""
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
    return "not reached"


@tool
async def group() -> str:
    """Raise a group of things that are no Exceptions."""
    raise BaseExceptionGroup("several", [Melt("melted"), SystemExit(3)])


@tool
async def spawns() -> str:
    """Leave a background task behind that ends the loop it runs on."""

    async def exits() -> None:
        sys.exit(3)

    asyncio.get_running_loop().create_task(exits())
    return "spawned"


@tool
def reads_input() -> str:
    """Read standard input, which belongs to the protocol."""
    return repr(sys.stdin.read())


@tool
def says(secret: str = "") -> str:
    """Raise an exception with a text that is nobody's business."""
    raise RuntimeError(f"the text of the exception {secret}")


@tool
def prints() -> str:
    """Write to standard output in every way there is."""
    print("printed by a tool")
    sys.__stdout__.write("printed to the old stdout\n")
    sys.__stdout__.flush()
    os.write(1, b"written by a tool\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    os.system("echo printed by a shell")
    return "printed"


@tool(timeout=0.3)
def floods() -> str:
    """Print more than a pipe holds."""
    print("flood" * 200_000)
    return "printed"


@tool(timeout=0.3)
async def blocks() -> str:
    """Block the pack's own loop for a while."""
    time.sleep(1.5)  # noqa: ASYNC251 - this is the fault
    return "too late"


@tool
async def quick() -> str:
    """Answer at once."""
    return "quick"


@tool
def wrong_type() -> list[int]:
    """Return something else than it says."""
    return "seven"


def _exits(value: str) -> str:
    sys.exit(3)


@tool
def exits_checking(value: Annotated[str | None, AfterValidator(_exits)] = None) -> str:
    """End the process while an argument is checked."""
    return value


@tool
def checked_in(thread: Annotated[str, AfterValidator(lambda _: current_thread().name)]) -> str:
    """Return the name of the thread that checked the argument."""
    return thread


class Untold(Exception):
    """An error that cannot be told."""

    suggestions = 5
    details = "no mapping"

    def __str__(self) -> str:
        raise RuntimeError("not even its text")


class Odd(Exception):
    """An error with much in it that is no JSON."""

    def __init__(self) -> None:
        super().__init__("no file of this name: caf\udce9")
        self.details = {"reason": "odd", "object": object(), 5: {1, 2}}
        self.suggestions = (b"bytes", 7)
        self.retryable = "yes"


@tool
def untold() -> str:
    """Raise what cannot be told."""
    raise Untold


@tool
def odd() -> str:
    """Raise what is hard to write."""
    raise Odd


@tool
def circle() -> dict:
    """Return what contains itself."""
    value = {}
    value["self"] = value
    return value


@resource("bad://exits")
def exits_reading() -> str:
    """End the process instead of being read."""
    sys.exit(3)


@prompt
def exits_prompt() -> str:
    """End the process instead of saying something."""
    sys.exit(3)


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    print("printed while it was opened")
    yield None


@hookimpl
def mcp_host_tools():
    print("printed by a hook")
    return [
        exits,
        exits_async,
        melts,
        melts_async,
        stops,
        cancels_itself,
        group,
        spawns,
        reads_input,
        says,
        prints,
        floods,
        blocks,
        quick,
        wrong_type,
        circle,
        exits_checking,
        checked_in,
        untold,
        odd,
    ]


@hookimpl
def mcp_host_errors():
    return {Untold: "conflict", Odd: "conflict"}


@hookimpl
def mcp_host_resources():
    return [exits_reading]


@hookimpl
def mcp_host_prompts():
    return [exits_prompt]
