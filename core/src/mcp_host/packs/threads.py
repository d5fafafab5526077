"""Names for the threads that run a pack's code."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

ENTRY = "pack "
"""How the outermost function of every thread of a pack is called, before the pack's name."""


def named_for(pack: str, method: Any) -> Callable[[], None]:
    """Return a method whose stack frame bears its pack's name.

    So the pack is named wherever a stack is shown, also by `faulthandler`, which reads no more than
    the names of functions.
    """
    code = method.__func__.__code__.replace(co_name=ENTRY + pack)
    return MethodType(FunctionType(code, method.__func__.__globals__), method.__self__)
