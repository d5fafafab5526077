"""What a pack answers to the host's questions, before it is opened."""

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from mcp_host import Finding, Tool
from pydantic import BaseModel, ConfigDict, model_validator

from hostile.registry import ACT, in_hook
from hostile.ways.errors import Unsayable


@in_hook("settings")
def settings_have_no_words() -> type:
    """Asked for its settings, raises an exception whose text raises."""
    raise Unsayable


class Hanging(BaseModel):
    """Settings that take long to be checked."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def checked(cls, given: Any) -> Any:
        threading.Event().wait()
        return given


@in_hook("settings")
def settings_hang() -> type:
    """Has a model of settings that never comes to an end."""
    return Hanging


class Interrupting(BaseModel):
    """Settings that end the process, as far as an exception can."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def checked(cls, given: Any) -> Any:
        raise KeyboardInterrupt


@in_hook("settings")
def settings_interrupt() -> type:
    """Has a model of settings that raises KeyboardInterrupt."""
    return Interrupting


@in_hook("tools")
def tools_have_no_end() -> Iterator[Tool]:
    """Returns tools without an end."""
    return itertools.repeat(ACT)


@in_hook("tools")
def tools_hang() -> list[Tool]:
    """Waits for ever when it is asked for its tools."""
    threading.Event().wait()
    return []


class Endless(list[Tool]):
    """A list that goes on when it is looked through."""

    def __iter__(self) -> Iterator[Tool]:
        return itertools.repeat(ACT)

    def __len__(self) -> int:
        return 1


@in_hook("tools")
def tools_are_a_list_without_end() -> list[Tool]:
    """Returns a list of tools that has no end when it is looked through."""
    return Endless()


@in_hook("tools")
def tools_are_many() -> list[Tool]:
    """Returns 5,000 tools."""
    return [Tool(ACT.function, name=f"act{number}") for number in range(5_000)]


@in_hook("tools")
def tool_describes_itself_at_length() -> list[Tool]:
    """Returns a tool with a description of 20 MB."""
    return [ACT, Tool(ACT.function, name="talks", description="long " * 4_000_000)]


class Text(str):
    """A text whose every use takes long."""

    def _slow(self, *given: Any) -> Any:
        time.sleep(20)
        return self

    __str__ = __format__ = strip = encode = replace = partition = _slow


@in_hook("tools")
def tool_has_a_name_that_is_code() -> list[Tool]:
    """Returns a tool whose name and description are texts of a class of its own, with slow code."""
    return [Tool(ACT.function, name=Text("act"), description=Text("Act"))]


@in_hook("tools")
def tools_raise_a_group() -> list[Tool]:
    """Asked for its tools, raises a group of SystemExit and KeyboardInterrupt."""
    raise BaseExceptionGroup("all over", [SystemExit(3), KeyboardInterrupt()])


@in_hook("instructions")
def instructions_are_code() -> str:
    """Returns instructions of a class of its own, with slow code."""
    return Text("Be kind")


class Unequal:
    """Cannot be compared."""

    def __eq__(self, other: object) -> bool:
        threading.Event().wait()
        return False

    __hash__ = object.__hash__


@in_hook("acts_as")
def answer_hangs_when_compared() -> Any:
    """Returns an object that waits for ever when it is compared."""
    return Unequal()


@in_hook("checks")
def check_hangs() -> list[Any]:
    """Has a check for `doctor` that waits for ever."""
    return [threading.Event().wait]


def _raising_check() -> Finding:
    raise Unsayable


@in_hook("checks")
def check_raises() -> list[Any]:
    """Has a check for `doctor` that raises an exception whose text raises."""
    return [_raising_check]


@in_hook("checks")
def check_finds_much() -> list[Any]:
    """Has a check for `doctor` that finds a problem of 50 MB."""
    return [lambda: Finding("long " * 10_000_000)]
