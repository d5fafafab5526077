"""The ways of misbehaving, by name: what each does, and what is expected of the host.

A way is one function of a module in `ways/`, marked by when it runs. Its docstring says what it
does; its name is `module.function`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Any

from mcp_host import Complete, Prompt, Tool, hookimpl, prompt, tool


class Expected(StrEnum):
    """What one process can do about a way; all but the first need a process for the pack."""

    CONTAINED = "contained"
    ENDS = "ends the process"
    HOLDS = "holds the interpreter"
    CHANGES = "changes the interpreter"


CONTAINED, ENDS, HOLDS, CHANGES = Expected

Function = Callable[..., Any]


@dataclass(frozen=True)
class Request:
    """What the client asks of the hostile pack."""

    method: str
    params: Mapping[str, Any]


def call(**arguments: Any) -> Request:
    return Request(
        "tools/call",
        {"name": "hostile_act", "arguments": arguments, "_meta": {"progressToken": "hostile"}},
    )


PROPOSE = Request(
    "completion/complete",
    {
        "ref": {"type": "ref/prompt", "name": "hostile_ask"},
        "argument": {"name": "word", "value": ""},
    },
)
GET = Request("prompts/get", {"name": "hostile_ask", "arguments": {"word": "x"}})
READ = Request("resources/read", {"uri": "hostile://thing"})


@dataclass(frozen=True)
class Way:
    """One way of misbehaving: when it runs, what the client asks, and how often."""

    name: str
    does: str
    expected: Expected
    request: Request
    at_import: Function | None = None
    hooks: Mapping[str, Function] = field(default_factory=dict)
    times: int = 1

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]

    def run_at_import(self) -> None:
        """Do what is done while the pack is imported."""
        if self.at_import is not None:
            self.at_import()

    def plugin(self) -> "Plugin":
        """Make what the entry point gives."""
        hooks = {"tools": lambda: [ACT], **self.hooks}
        return Plugin(**{f"mcp_host_{name}": hookimpl(made) for name, made in hooks.items()})


class Plugin(SimpleNamespace):
    """What answers the hooks; pluggy keeps it in a dict."""

    __hash__ = object.__hash__


def _innocent() -> str:
    """Do nothing wrong."""
    return "done"


ACT = Tool(_innocent, name="act", description="Do nothing wrong", timeout=2)

_WAYS: dict[str, Way] = {}


def ways() -> Mapping[str, Way]:
    """Return every way by its name."""
    from hostile import ways as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _WAYS


def _add(
    function: Function, expected: Expected, request: Request | None = None, **more: Any
) -> Function:
    module = function.__module__.rpartition(".")[2]
    name = f"{module}.{function.__name__}"
    does = (function.__doc__ or "").partition("\n")[0]
    _WAYS[name] = Way(name, does, expected, request or call(), **more)
    return function


def at_import(expected: Expected = CONTAINED) -> Callable[[Function], Function]:
    """Mark what runs while the pack is imported."""
    return lambda function: _add(function, expected, at_import=function)


def in_hook(name: str, expected: Expected = CONTAINED, **more: Any) -> Callable[..., Function]:
    """Mark the answer to a hook of the host."""
    return lambda function: _add(function, expected, hooks={name: function}, **more)


def while_opening(expected: Expected = CONTAINED) -> Callable[[Function], Function]:
    """Mark what `mcp_host_open` runs: a generator that yields the service."""
    return lambda function: _add(function, expected, hooks={"open": asynccontextmanager(function)})


def in_call(
    expected: Expected = CONTAINED,
    *,
    errors: Mapping[type[BaseException], str] | None = None,
    times: int = 1,
    **arguments: Any,
) -> Callable[[Function], Function]:
    """Mark a tool; it is called with these arguments, so often at once."""

    def mark(function: Function) -> Function:
        made = tool(name="act", timeout=2)(function)
        hooks: dict[str, Function] = {"tools": lambda: [made]}
        if errors is not None:
            hooks["errors"] = lambda: errors
        return _add(function, expected, call(**arguments), hooks=hooks, times=times)

    return mark


def with_schema(expected: Expected = CONTAINED, **arguments: Any) -> Callable[..., Function]:
    """Mark what makes the input schema of a tool, which is then called with these arguments."""

    def mark(function: Function) -> Function:
        def any_arguments(**given: Any) -> str:
            """Take anything."""
            return "done"

        def tools() -> Sequence[Tool]:
            return [Tool(any_arguments, name="act", timeout=2, input_schema=function())]

        return _add(function, expected, call(**arguments), hooks={"tools": tools})

    return mark


def in_proposals(expected: Expected = CONTAINED) -> Callable[[Function], Function]:
    """Mark what proposes values for an argument."""
    return lambda function: _add(
        function, expected, PROPOSE, hooks={"prompts": lambda: [_prompt(function)]}
    )


def _prompt(propose: Function) -> Prompt:
    def ask(word: Annotated[str, Complete(propose)]) -> str:
        """Ask about a word."""
        return word

    return prompt(ask)
