"""What may stand in `Annotated` beside the type of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..startup.dataclass import dataclass
from .asking import Question
from .json_schema import Schema


@dataclass(frozen=True, eq=False)
class Ask:
    """`sure: Annotated[bool, Ask("Delete {ids}?")]`: the host asks before the body runs.

    `question` is a text with the call's arguments in braces, a `Form`, `Choice`, `Visit`, `Sample`
    or `Roots`, or a function of arguments and earlier answers (by their names) that gives one of
    these, or the value itself when nothing need be asked. Such a function may take the pack's
    service before `/` and the `Context`; it may run again each time the client answers, so it must
    write nothing.
    """

    question: str | Question | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Complete:
    """`city: Annotated[str, Complete(cities)]`: proposals while a person types.

    `propose(value)` returns strings; it may also take `arguments` (what is filled in already), and
    the pack's service before `/`.
    """

    propose: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Header:
    """`region: Annotated[str, Header("Region")]`: clients repeat it as `Mcp-Param-Region`.

    Only for parameters that are a string, an integer or a boolean (MCP 2026-07-28).
    """

    name: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Schema]) -> Schema:
        return {**handler(core), "x-mcp-header": self.name}
