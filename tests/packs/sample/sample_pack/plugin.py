"""A well-behaved pack whose calls a test can hold and let go, in any order and without waiting."""

import asyncio
import threading
from collections import defaultdict
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from mcp_host import Complete, Context, Result, Text, hookimpl, prompt, resource, tool
from pydantic import BaseModel, ConfigDict, Field

CITIES = ("Rome", "Riga", "Oslo")


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    pages: Annotated[int, Field(description="How many numbered tools there are besides.")] = 0


class Gates:
    """Named events: calls wait at them, and a test opens them."""

    def __init__(self, pack) -> None:
        self.changed, self.lists_changed = pack.changed, pack.lists_changed
        self.degraded, self.recovered = pack.degraded, pack.recovered
        self.run = pack.run
        self.open = defaultdict(asyncio.Event)
        self.reached = defaultdict(asyncio.Event)
        self.hung = threading.Event()
        self.runs = self.counted = 0
        self._loop = asyncio.get_running_loop()

    def let(self, gate) -> None:
        """Open a gate; may be called in any thread."""
        self._loop.call_soon_threadsafe(lambda: self.open[gate].set())

    def note(self, gate) -> None:
        """Say that a call has come to a gate; may be called in any thread."""
        self._loop.call_soon_threadsafe(lambda: self.reached[gate].set())


@tool(read_only=True)
def echo(text: str = "", number: int | None = None, data: list | None = None) -> dict:
    """Return what was sent. {tool:hold} waits."""
    return {"text": text, "number": number, "data": data}


@tool(read_only=True)
def big(size: int) -> str:
    """Return a text of so many characters."""
    return "x" * size


@tool
async def hold(gates: "Gates", /, gate: str, context: Context) -> str:
    """Wait until the gate is opened; notes how the call ended."""
    gates.runs += 1
    gates.reached[gate].set()
    try:
        await gates.open[gate].wait()
        return gate
    except asyncio.CancelledError:
        gates.reached[f"{gate} cancelled: {context.cancelled}"].set()
        raise


@tool
async def let_go(gates: "Gates", /, gate: str) -> int:
    """Open a gate; returns how many calls were ever held."""
    gates.let(gate)
    return gates.runs


@tool(read_only=True)
async def count(gates: "Gates", /) -> int:
    """Return how often this was called."""
    gates.counted += 1
    return gates.counted


@tool(read_only=True)
async def reached(gates: "Gates", /, gate: str) -> bool:
    """Wait until a call has come to this gate."""
    await gates.reached[gate].wait()
    return True


@tool
def put(path: str) -> None:
    """Write to a file: a sign for a test that cannot read the answer."""
    Path(path).write_text("put")


@tool
def take(path: str) -> str:
    """Read a file; a fifo holds the call until a test writes to it."""
    return Path(path).read_text()


@tool(timeout=0.3)
def hang(gates: "Gates", /) -> str:
    """Block a thread for half a minute, or until a test is over."""
    gates.hung.wait(30)
    return "too late"


@tool(timeout=0.3, read_only=True)
def look_long(gates: "Gates", /) -> str:
    """As {tool:hang}, but it reads only."""
    gates.hung.wait(30)
    return "too late"


@tool
def unhang(gates: "Gates", /) -> None:
    """Let every hanging call end."""
    gates.hung.set()


@tool(timeout=0.3)
async def stubborn(gates: "Gates", /) -> str:
    """Swallow every cancellation until a test is over."""
    while not gates.hung.is_set():
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return "too late"


@tool(read_only=True)
def watch(gates: "Gates", /, context: Context) -> str:
    """Look at `context.cancelled` in a thread until the call is taken back."""
    gates.note("watching")
    while not context.cancelled:
        gates.hung.wait(0.01)
    gates.note("seen")
    return "seen"


@tool
async def touch(gates: "Gates", /, uri: str) -> None:
    """Say that a resource changed."""
    gates.changed(uri)


@tool
async def change_lists(gates: "Gates", /) -> None:
    """Say that the lists changed."""
    gates.lists_changed()


@tool
async def suffer(gates: "Gates", /, reason: str) -> None:
    """Say that something is missing."""
    gates.degraded(reason, code="something_missing", remedy="bring it back")


@tool
async def heal(gates: "Gates", /) -> None:
    """Say that nothing is missing any more."""
    gates.recovered()


@tool(read_only=True)
def odd(kind: str) -> Result:
    """Return what is hard to write: half a character, no number, a deep nest."""
    deep: list = []
    for _ in range(2000):
        deep = [deep]
    value = {"surrogate": "a\ud800b", "nan": float("nan"), "object": object(), "deep": deep}[kind]
    return Result([Text("see the structured part")], structured={"value": value})


@resource("sample://plain", mime="text/plain")
def plain() -> str:
    """A text."""
    return "plain"


@resource("sample://one/{name}", mime="text/plain")
def one(name: Annotated[str, Complete(lambda value: [c for c in CITIES if c.startswith(value)])]):
    """One segment of a URI."""
    return f"one:{name}"


@resource("sample://all/{+path}", mime="text/plain")
def several(path: str) -> str:
    """Several segments of a URI."""
    return f"several:{path}"


@prompt
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    gates = Gates(pack)
    try:
        yield gates
    finally:
        gates.hung.set()


@hookimpl
def mcp_host_tools(settings):
    numbered = [echo.replace(name=f"echo_{n}") for n in range(settings.pages)]
    return [
        echo,
        big,
        hold,
        count,
        let_go,
        reached,
        put,
        take,
        hang,
        look_long,
        unhang,
        stubborn,
        watch,
        touch,
        change_lists,
        suffer,
        heal,
        odd,
        *numbered,
    ]


@hookimpl
def mcp_host_resources(settings):
    numbered = [plain.replace(uri=f"sample://plain/{n}") for n in range(settings.pages)]
    templates = [one.replace(uri=f"sample://one/{n}/{{name}}") for n in range(settings.pages)]
    return [plain, one, several, *numbered, *templates]


@hookimpl
def mcp_host_prompts(settings):
    return [greet, *(greet.replace(name=f"greet_{n}") for n in range(settings.pages))]


@hookimpl
def mcp_host_instructions():
    return "Begin with {tool:echo}."
