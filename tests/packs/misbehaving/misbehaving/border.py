"""A pack whose objects run code when they are looked at; it notes in which threads that happens."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import mcp_host
from mcp_host import Ask, Complete, Context, Result, Text, hookimpl, prompt, tool
from pydantic import AfterValidator, BaseModel, model_serializer

RAN: list[tuple[str, str]] = []
"""What ran, and in which thread."""
GATE = threading.Event()
"""What is slow waits for it."""


def note(what: str) -> None:
    RAN.append((what, threading.current_thread().name))


class Wordless(Exception):
    """Takes its time to say what it is."""

    def __str__(self) -> str:
        note("text")
        GATE.wait(20)
        return "slow words"


class Laden(Exception):
    """Its details and suggestions are code."""

    @property
    def details(self) -> dict[str, Any]:
        note("details")
        return {"reason": "laden", "deep": self, "endless": itertools.count()}

    @property
    def suggestions(self) -> Iterator[str]:
        note("suggestions")
        return (f"try {number}" for number in itertools.count())


class Hesitant(dict[Any, Any]):
    """A map of errors that hangs when it is asked."""

    def __contains__(self, key: object) -> bool:
        note("map")
        if key is KeyError:
            GATE.wait(20)
        return super().__contains__(key)


class Model(BaseModel):
    """Runs code when it is written."""

    @model_serializer
    def written(self) -> dict[str, str]:
        note("serializer")
        return {"a": "b"}


def checked(value: str) -> str:
    note("validator")
    return value


def proposals(value: str) -> Iterator[str]:
    for number in itertools.count():
        if number == 0:
            note("proposals")
        yield f"{value}{number}"


def asked(value: str) -> bool:
    note("question")
    return True


@tool(timeout=0.3)
def wordless() -> str:
    """Raise what is slow to say."""
    raise Wordless


@tool
def laden() -> str:
    """Raise what has details without an end."""
    raise Laden("laden")


@tool(timeout=0.3)
def hesitant() -> str:
    """Raise what the map of errors hangs on."""
    raise KeyError("x")


@tool
def written(context: Context) -> Any:
    """Return and log what runs code when it is written."""
    context.log("error", Model())
    context.log("error", itertools.count())
    return Result([Text("x")], structured={"model": Model().written()})


@tool
def validated(
    value: Annotated[str, AfterValidator(checked)], sure: Annotated[bool, Ask(asked)]
) -> str:
    """Have a value checked and a question made by the pack."""
    return value


@tool
def large(size: int) -> str:
    """Return a text of so many characters."""
    return "x" * size


@tool
def many(items: int) -> list[int]:
    """Return so many numbers."""
    return list(range(items))


@tool(timeout=0.5)
def floods(context: Context) -> str:
    """Tell of progress and of changes, and log, until the call is over."""
    for number in itertools.count():
        context.progress(number, message="on")
        context.log("error", "on")
        context.changed(f"flood://{number}")
        if context.cancelled:
            return "over"
    raise AssertionError


@prompt
def complete(word: Annotated[str, Complete(proposals)]) -> str:
    """A prompt whose argument has proposals without an end."""
    return word


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack: mcp_host.PackHandle) -> Any:
    stop = threading.Event()

    def flood() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            pack.changed(f"storm://{number}")
            pack.lists_changed()
            pack.degraded("stormy " + "z" * 10_000)

    threading.Thread(target=flood, daemon=True).start()
    yield None
    stop.set()


@hookimpl
def mcp_host_tools() -> list[Any]:
    return [wordless, laden, hesitant, written, validated, large, many, floods]


@hookimpl
def mcp_host_prompts() -> list[Any]:
    return [complete]


@hookimpl
def mcp_host_errors() -> Any:
    return Hesitant({Laden: "conflict", Wordless: "conflict"})
