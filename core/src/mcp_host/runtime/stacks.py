"""Reads the stacks of all threads: which packs are at work, and where."""

from __future__ import annotations

import selectors
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

from ..packs.threads import ENTRY

_WAITING = frozenset((selectors.__file__, threading.__file__, __file__))


def at_work(modules: Mapping[str, str]) -> Iterator[str]:
    """Tell of each thread that runs a pack's code: whose, and where.

    `modules` tells which pack a module and all below it belong to.
    """
    for frame in sys._current_frames().values():
        if frame.f_code.co_filename in _WAITING or frame.f_code.co_name.startswith(ENTRY):
            continue  # it waits for something to do
        pack = _pack_of(frame, modules)
        if pack is not None:
            yield f"pack {pack}{place(frame)}"


def _pack_of(frame: FrameType, modules: Mapping[str, str]) -> str | None:
    """Return whose thread a stack belongs to: by its outermost function, or by a pack's module."""
    found = None
    inner: FrameType | None = frame
    while inner is not None:
        if inner.f_code.co_name.startswith(ENTRY):
            return inner.f_code.co_name.removeprefix(ENTRY)
        found = found or _owner(str(inner.f_globals.get("__name__")), modules)
        inner = inner.f_back
    return found


def _owner(module: str, modules: Mapping[str, str]) -> str | None:
    while module:
        if module in modules:
            return modules[module]
        module = module.rpartition(".")[0]
    return None


def place(frame: FrameType | None) -> str:
    """Say where a stack is; nothing where there is none."""
    if frame is None:
        return ""
    code = frame.f_code
    return f" ({Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name})"
