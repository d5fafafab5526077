"""Imports that do not meet: one thread at a time imports the SDK, be it the host's or a pack's.

Modules of the SDK import each other in circles. Where two threads begin at two ends of one, Python
lets them pass with half of a module rather than have them wait for each other for ever.
"""

from __future__ import annotations

import builtins
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

SDK = frozenset(("mcp", "mcp_types"))
LONGEST = 20.0
"""Seconds that a thread waits for its turn; after that it imports all the same."""

_turn = threading.RLock()


def take_turns() -> None:
    """Have every thread that imports a module of the SDK wait for those that do already."""
    builtins.__import__ = _in_turn(builtins.__import__)
    importlib.import_module = _in_turn(importlib.import_module)


def _in_turn(load: Callable[..., Any]) -> Callable[..., Any]:
    def load_in_turn(name: str, *more: Any, **named: Any) -> Any:
        if name.partition(".")[0] not in SDK:
            return load(name, *more, **named)
        with turn():
            return load(name, *more, **named)

    return load_in_turn


@contextmanager
def turn() -> Iterator[None]:
    """Wait until nobody else imports the SDK; a thread that has its turn may take it again."""
    has_turn = _turn.acquire(timeout=LONGEST)
    try:
        yield
    finally:
        if has_turn:
            _turn.release()


def once_more(load: Callable[[], T]) -> T:
    """Import something, and once more where it met another thread that imported half of it."""
    try:
        return load()
    except (ImportError, AttributeError) as error:
        if "partially initialized" not in str(error):
            raise
    with turn():
        return load()


def imported(path: str) -> Any:
    """Return what an entry point names: `module` or `module:attribute`."""
    module, _, attribute = path.partition(":")
    loaded: Any = once_more(lambda: importlib.import_module(module))
    for part in filter(None, attribute.split(".")):
        loaded = getattr(loaded, part)
    return loaded
