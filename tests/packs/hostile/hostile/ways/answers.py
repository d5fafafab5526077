"""What a pack returns from a call."""

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from mcp_host import Image, Result, Text
from pydantic import BaseModel, model_serializer

from hostile.registry import in_call
from hostile.ways.errors import Burden


@in_call()
def is_a_huge_text() -> str:
    """Returns a text of 60 MB."""
    return "x" * 60_000_000


@in_call()
def is_a_long_list() -> list[int]:
    """Returns a list of five million numbers."""
    return list(range(5_000_000))


@in_call()
def is_a_list_of_huge_texts() -> list[str]:
    """Returns a list of 30 texts of 2 MB."""
    return ["x" * 2_000_000] * 30


@in_call()
def is_bytes() -> Any:
    """Returns a picture of 60 MB."""
    return Image(b"x" * 60_000_000, "image/png")


@in_call()
def has_no_end() -> Any:
    """Returns an iterator without an end."""
    return itertools.count()


@in_call()
def grows_while_it_is_written() -> Any:
    """Returns a result with an iterator without an end in it."""
    return Result([Text("x")], structured={"endless": itertools.repeat("x")})


@in_call()
def is_deep() -> Any:
    """Returns lists in each other, 100,000 deep."""
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@in_call()
def holds_itself() -> Any:
    """Returns a dict that holds itself."""
    table: dict[str, Any] = {}
    table["self"] = table
    return table


@in_call()
def has_a_huge_number() -> Any:
    """Returns a number of 100,000 digits."""
    return {"number": 10**100_000}


@in_call()
def is_no_number_and_a_lone_surrogate() -> Any:
    """Returns NaN, infinities and a lone surrogate."""
    return {"a": float("nan"), "b": float("inf"), "c": "\ud800", "\udfff": 1}


class Slow(BaseModel):
    """Takes long to be written."""

    @model_serializer
    def written(self) -> dict[str, Any]:
        time.sleep(20)
        return {}


@in_call()
def is_slow_to_be_written() -> Any:
    """Returns a model whose serializer takes 20 s."""
    return Result([Text("x")], structured={"model": Slow()})


@in_call()
def is_slow_in_the_background() -> Slow:
    """Returns a model whose serializer takes 20 s, as its return type says."""
    return Slow()


class Keys(dict[str, Any]):
    """A dict that goes on when it is looked through."""

    def items(self) -> Any:
        return ((str(number), number) for number in itertools.count())

    def __iter__(self) -> Iterator[str]:
        return map(str, itertools.count())


@in_call()
def is_a_dict_without_end() -> Any:
    """Returns a dict whose items have no end."""
    return Keys(one=1)


@in_call()
def changes_while_it_is_written() -> Any:
    """Returns a dict that a thread changes all the time."""
    table: dict[str, Any] = {str(number): [number] * 50 for number in range(5_000)}

    def change() -> None:
        for number in itertools.count():
            table[f"new{number % 1000}"] = number
            table.pop(f"new{(number - 500) % 1000}", None)
            if number % 100 == 0:
                time.sleep(0.001)

    threading.Thread(target=change, daemon=True).start()
    return table


@in_call()
def dies_slowly() -> Any:
    """Returns a result with an object whose `__del__` takes 20 s."""
    result = Result([Text("x")])
    object.__setattr__(result, "burden", Burden())
    return result
