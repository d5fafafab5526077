"""The event loop that the host serves on: uvloop's where that is installed, else asyncio's."""

from __future__ import annotations

import asyncio
import os

VARIABLE = "MCP_HOST_UVLOOP"
"""Set to "0", it has asyncio's own loop used all the same."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make the loop; packs have loops of their own, which are asyncio's."""
    if os.environ.get(VARIABLE) == "0":
        return asyncio.new_event_loop()
    try:
        import uvloop  # the extra `uvloop`
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
