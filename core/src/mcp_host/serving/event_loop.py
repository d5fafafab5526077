"""The event loop that the host serves on: uvloop's where that is installed, else asyncio's."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from ..runtime.loop import new_asyncio_loop
from ..startup.descriptors import LOW, as_if_taken, close_in_forks, give_back

VARIABLE = "MCP_HOST_UVLOOP"
"""Set to "0", it has asyncio's own loop used all the same."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make the loop; packs have loops of their own, which are asyncio's."""
    if os.environ.get(VARIABLE) == "0":
        return new_asyncio_loop()
    try:
        import uvloop  # the extra `uvloop`
    except ImportError:
        return new_asyncio_loop()
    # What is written to one of its pipes by chance, uvloop reads as addresses, and crashes.
    taken = as_if_taken(LOW)
    before = _pipes()
    try:
        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    finally:
        give_back(taken)
    for pipe in _pipes() - before:
        close_in_forks(pipe)
    return loop


def _pipes() -> set[int]:
    """The ends of pipes that are open; none where the system does not tell."""
    found = set()
    with suppress(OSError):
        for one in Path("/proc/self/fd").iterdir():
            if one.is_fifo():
                found.add(int(one.name))
    return found
