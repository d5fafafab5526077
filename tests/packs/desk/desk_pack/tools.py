"""Tools, resources and prompts that ask nothing."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp_host import (
    Audio,
    Complete,
    Context,
    Embedded,
    Image,
    Link,
    Message,
    Page,
    Result,
    Text,
    prompt,
    resource,
    tool,
)
from pydantic import BaseModel, Field


class Paper(BaseModel):
    """A paper on the desk."""

    name: str
    text: str | None = None


class Pen(BaseModel):
    colour: Literal["red", "blue"]
    width: float = 1.0


@dataclass
class Seen:
    subject: str | None
    scopes: list[str] | None
    client: str | None
    protocol: str
    connection: str | None = None


@tool(read_only=True)
def greet(name: Annotated[str, Field(min_length=1)], loud: bool = False) -> str:
    """Greet somebody. {tool:hold} waits."""
    return f"Hello {name}{'!' if loud else '.'}"


@tool(read_only=True)
def draw(pen: Pen, lines: list[int], times: int = 1) -> dict[str, Any]:
    """Draw lines with a pen."""
    return {"pen": pen.model_dump(), "lines": lines, "times": times}


@tool(read_only=True)
async def settings_seen(desk: "Desk", /) -> dict[str, Any]:  # noqa: F821 - never evaluated
    """Tell where the pack looks, as its settings say."""
    found = desk.settings
    return {
        "root": str(found.root),
        "papers": str(found.papers),
        "shelves": [str(shelf) for shelf in found.shelves],
        "scratch": str(found.limits.scratch),
        "env": found.env,
        "key_length": len(found.key),
    }


@tool
async def leak(desk: "Desk", /) -> str:  # noqa: F821 - never evaluated
    """Fail with a domain error that holds the key."""
    from .service import DrawerStuck

    raise DrawerStuck(desk.settings.key)


@tool
async def crash(desk: "Desk", /) -> str:  # noqa: F821 - never evaluated
    """Fail with an error nobody foresaw, that holds the key."""
    raise RuntimeError(f"crashed with {desk.settings.key}")


@tool(read_only=True)
def chatter() -> str:
    """Print to standard output, as careless code does."""
    print("CHATTER from the tool")
    return "said"


@tool
async def hold(desk: "Desk", /, gate: str, context: Context) -> str:  # noqa: F821
    """Wait at a gate until it is opened; a call that is cancelled passes `GATE cancelled`."""
    desk.runs[gate] += 1
    desk.passed[gate].set()
    try:
        await desk.open[gate].wait()
    except asyncio.CancelledError:
        desk.passed[f"{gate} cancelled"].set()
        raise
    return gate


@tool
async def await_file(path: str) -> str:
    """Wait until a file is there: something a test can do when no call is taken any more."""
    while not Path(path).exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return "it is there"


@tool
async def let_go(desk: "Desk", /, gate: str) -> int:  # noqa: F821
    """Open a gate; returns how many calls came to it."""
    desk.open[gate].set()
    return desk.runs[gate]


@tool(read_only=True)
async def reached(desk: "Desk", /, gate: str) -> bool:  # noqa: F821
    """Wait until a call has come to a gate."""
    await desk.passed[gate].wait()
    return True


@tool(read_only=True)
async def runs(desk: "Desk", /, what: str) -> int:  # noqa: F821
    """How often something ran."""
    return desk.runs[what]


@tool(read_only=True)
def who_am_i(context: Context) -> Seen:
    """Tell what the host knows of the caller."""
    caller = context.caller
    scopes = sorted(caller.scopes) if caller.scopes is not None else None
    return Seen(caller.subject, scopes, caller.client, caller.protocol, caller.connection)


@tool(read_only=True)
def tell(count: int, context: Context) -> str:
    """Tell progress and a log message of each of four levels, from a thread."""
    for number in range(count):
        context.progress(number + 1, count, f"step {number + 1}")
    for level in ("debug", "info", "warning", "error"):
        context.log(level, f"a message of level {level}")
    return "told"


@tool
async def write(desk: "Desk", /, name: str, text: str, context: Context) -> str:  # noqa: F821
    """Write a paper, and tell those who watch it."""
    desk.papers[name] = text
    context.changed(f"desk://papers/{name}")
    return "written"


@tool(read_only=True)
def everything() -> Result:
    """Return a content of every kind."""
    return Result(
        [
            Text("words", meta={"kind": "text"}),
            Image(b"\x89PNG"),
            Audio(b"RIFF"),
            Embedded("desk://inside", "body", "text/markdown"),
            Link("desk://papers/tax", "tax", mime="text/plain"),
        ],
        structured={"kinds": 5},
        meta={"made": "by hand"},
    )


@tool(read_only=True)
async def papers(
    desk: "Desk",  # noqa: F821
    /,
    limit: Annotated[int, Field(ge=1)] = 2,
) -> Page[Paper]:
    """List papers."""
    names = sorted(desk.papers)
    items = [Paper(name=name, text=desk.papers[name]) for name in names[:limit]]
    return Page(items, len(names), f"after-{items[-1].name}" if limit < len(names) else None)


def names(desk: "Desk", /, value: str, arguments: dict[str, str]) -> list[str]:  # noqa: F821
    if value == "leak":
        from .service import DrawerStuck

        raise DrawerStuck(desk.settings.key)
    shelf = arguments.get("shelf", "")
    return [f"{shelf}{name}" for name in sorted(desk.papers) if name.startswith(value)]


@resource("desk://papers/{name}", mime="text/plain")
async def paper(desk: "Desk", /, name: Annotated[str, Complete(names)]) -> str:  # noqa: F821
    """A paper."""
    from .service import DrawerStuck, NoSuchPaper

    if name == "drawer":
        raise DrawerStuck(desk.settings.key)
    if name not in desk.papers:
        raise NoSuchPaper(f"no paper '{name}'")
    return desk.papers[name]


@resource("desk://all", ttl=60, shared=True)
async def all_papers(desk: "Desk", /) -> list[Any]:  # noqa: F821
    """Every paper as a content of its own, and the stamp as bytes."""
    texts: list[Any] = [
        Embedded(f"desk://papers/{name}", text, "text/plain")
        for name, text in sorted(desk.papers.items())
    ]
    return [*texts, Embedded("desk://stamp", b"\x00\xff", "image/x-stamp")]


@resource("desk://stamp", mime="image/x-stamp")
def stamp() -> bytes:
    """A stamp."""
    return b"\x00\xff"


@resource("desk://card")
def card() -> Paper:
    """A card as data."""
    return Paper(name="card")


@prompt
def tidy(shelf: str, paper: Annotated[str, Complete(names)] = "tax") -> list[Message]:
    """Tidy a shelf with {tool:papers}."""
    return [Message(f"Tidy {shelf}: {paper}"), Message("I shall.", role="assistant")]


TOOLS = [
    greet,
    draw,
    settings_seen,
    leak,
    crash,
    chatter,
    hold,
    await_file,
    let_go,
    reached,
    runs,
    who_am_i,
    tell,
    write,
    everything,
    papers,
]
RESOURCES = [paper, all_papers, stamp, card]
PROMPTS = [tidy]
