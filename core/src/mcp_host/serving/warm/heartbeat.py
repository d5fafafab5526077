"""The heartbeat of a host: memory that its fronts look at, which moves as long as its loop does."""

from __future__ import annotations

import asyncio
import mmap
import os

BEAT = 0.5
"""Seconds between two beats of the loop."""


class Heartbeat:
    """Memory, by its `descriptor`, whose first word grows while the loop runs."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("mcp-host-heart")
        os.ftruncate(self.descriptor, mmap.PAGESIZE)
        self._beats = memoryview(mmap.mmap(self.descriptor, mmap.PAGESIZE)).cast("Q")

    def beat(self) -> None:
        """Beat now, and from now on."""
        self._beats[0] = self._beats[0] + 1
        asyncio.get_running_loop().call_later(BEAT, self.beat)
