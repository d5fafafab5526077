"""What a pack proposes for arguments, and what its prompts and resources give."""

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from mcp_host import Prompt, Resource

from hostile.registry import GET, READ, in_hook, in_proposals
from hostile.ways.errors import Unsayable


@in_proposals()
def come_slowly(value: str) -> Iterator[str]:
    """Proposes a value every 5 s."""
    for number in range(5):
        time.sleep(5)
        yield str(number)


@in_proposals()
def have_no_end(value: str) -> Iterator[str]:
    """Proposes values without an end."""
    return map(str, itertools.count())


@in_proposals()
def are_never_the_right_ones(value: str) -> Iterator[int]:
    """Proposes nothing, and looks for ever."""
    return filter(lambda number: number < 0, itertools.count())


@in_proposals()
def have_no_words(value: str) -> list[Any]:
    """Proposes objects whose text raises."""
    return [Unsayable()] * 200


@in_proposals()
def are_huge(value: str) -> list[str]:
    """Proposes 100 texts of 1 MB."""
    return ["long " * 200_000] * 100


@in_proposals()
def interrupt(value: str) -> list[str]:
    """Raises KeyboardInterrupt when it is asked to propose."""
    raise KeyboardInterrupt


def _hang(word: str) -> str:
    """Hang."""
    threading.Event().wait()
    return word


def _huge(word: str) -> str:
    """Say much."""
    return word * 60_000_000


def _deep() -> Any:
    """Give what is deep."""
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@in_hook("prompts", request=GET)
def prompt_hangs() -> list[Prompt]:
    """Has a prompt that waits for ever."""
    return [Prompt(_hang, name="ask")]


@in_hook("prompts", request=GET)
def prompt_is_huge() -> list[Prompt]:
    """Has a prompt of 60 MB."""
    return [Prompt(_huge, name="ask")]


@in_hook("resources", request=READ)
def resource_hangs() -> list[Resource]:
    """Has a resource that waits for ever."""
    return [Resource(lambda: threading.Event().wait(), name="thing", uri="hostile://thing")]


@in_hook("resources", request=READ)
def resource_is_huge() -> list[Resource]:
    """Has a resource of 60 MB."""
    return [Resource(lambda: "x" * 60_000_000, name="thing", uri="hostile://thing")]


@in_hook("resources", request=READ)
def resource_is_deep() -> list[Resource]:
    """Has a resource of lists in each other, 100,000 deep."""
    return [Resource(_deep, name="thing", uri="hostile://thing")]
