"""What a pack raises in a call, and what hangs on it."""

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from hostile.registry import in_call

SLOW = 20


class Unsayable(Exception):
    """Has no text: asking for it raises."""

    def __str__(self) -> str:
        raise Unsayable

    __repr__ = __str__


class Slow(Exception):
    """Takes its time to say what it is."""

    def __str__(self) -> str:
        time.sleep(SLOW)
        return "slow"


class Huge(Exception):
    """Says 50 MB."""

    def __str__(self) -> str:
        return "long " * 10_000_000


class Laden(Exception):
    """Its details and suggestions have no end."""

    @property
    def details(self) -> dict[str, Any]:
        return {"reason": "laden", "endless": itertools.count()}

    @property
    def suggestions(self) -> Iterator[str]:
        return (f"try {number}" for number in itertools.count())


class Late(Exception):
    """Its details and suggestions take long."""

    @property
    def details(self) -> dict[str, Any]:
        time.sleep(SLOW)
        return {}

    suggestions = details


class Lying(Exception):
    """Says that it is of another class."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        time.sleep(SLOW)
        return ValueError


class Slowly(dict[Any, Any]):
    """A map that hangs when it is asked for a key."""

    def __contains__(self, key: object) -> bool:
        time.sleep(SLOW)
        return False


def chain(length: int) -> Exception:
    """Make an exception with so many causes."""
    error = ValueError("the first")
    for number in range(length):
        later = ValueError(f"cause {number}")
        later.__cause__ = error
        error = later
    return error


@in_call()
def has_no_text() -> None:
    """Raises an exception whose text raises itself."""
    raise Unsayable


@in_call()
def has_a_slow_text() -> None:
    """Raises an exception whose text takes 20 s."""
    raise Slow


@in_call(errors={Slow: "conflict"})
def has_a_slow_text_and_is_declared() -> None:
    """Raises a declared exception whose text takes 20 s."""
    raise Slow


@in_call()
def has_a_huge_text() -> None:
    """Raises an exception with a text of 50 MB."""
    raise Huge


@in_call(errors={Huge: "conflict"})
def has_a_huge_text_and_is_declared() -> None:
    """Raises a declared exception with a text of 50 MB."""
    raise Huge


@in_call(errors={Laden: "conflict"})
def has_endless_details() -> None:
    """Raises an exception whose details and suggestions have no end."""
    raise Laden("laden")


@in_call(errors={Late: "conflict"})
def has_slow_details() -> None:
    """Raises an exception whose details and suggestions take 20 s each."""
    raise Late("late")


@in_call()
def lies_about_its_class() -> None:
    """Raises an exception whose `__class__` is code that takes 20 s."""
    raise Lying("lying")


@in_call()
def has_a_long_chain() -> None:
    """Raises an exception with 100,000 causes."""
    raise chain(100_000)


@in_call()
def is_its_own_cause() -> None:
    """Raises an exception that is the cause of its cause."""
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


@in_call()
def interrupts() -> None:
    """Raises KeyboardInterrupt in a thread."""
    raise KeyboardInterrupt


@in_call()
async def interrupts_on_its_loop() -> None:
    """Raises KeyboardInterrupt on the pack's loop."""
    raise KeyboardInterrupt


@in_call()
async def exits_on_its_loop() -> None:
    """Raises SystemExit on the pack's loop."""
    raise SystemExit(9)


@in_call()
def stops_iterating() -> None:
    """Raises StopIteration."""
    raise StopIteration("over")


@in_call()
async def cancels_itself() -> None:
    """Raises CancelledError without having been cancelled."""
    raise asyncio.CancelledError


@in_call()
def leaves_as_a_generator() -> None:
    """Raises GeneratorExit."""
    raise GeneratorExit


@in_call()
def raises_many_at_once() -> None:
    """Raises a group of 10,000 exceptions without text."""
    raise ExceptionGroup("many", [Unsayable() for _ in range(10_000)])


@in_call(errors=Slowly({KeyError: "not_found"}))
def is_looked_up_in_a_map_that_hangs() -> None:
    """Raises an exception where the pack's map of errors takes 20 s to look one up."""
    raise LookupError("x")


@in_call()
def notes_on_what_it_raises() -> None:
    """Raises an exception with 100,000 notes."""
    error = ValueError("noted")
    for number in range(100_000):
        error.add_note(f"note {number}")
    raise error


@in_call()
def raises_deep_in_the_stack() -> None:
    """Raises an exception from 900 calls deep, with a large local variable in each."""

    def deeper(level: int) -> None:
        kept = "x" * 10_000
        if level == 0:
            raise ValueError(kept)
        deeper(level - 1)

    deeper(900)


@in_call()
def dies_slowly() -> None:
    """Raises an exception with an object whose `__del__` takes 20 s."""
    error = ValueError("with a burden")
    error.burden = Burden()  # type: ignore[attr-defined]
    raise error


class Burden:
    """Takes its time to go away."""

    def __del__(self) -> None:
        threading.Event().wait(SLOW)
