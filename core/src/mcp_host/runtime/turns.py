"""Packs open one after the other where a first call is due: together they would only delay it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from .lifecycle import Lifecycle

PAUSE = 0.05
"""Seconds in which a first call may say which pack is to open before the others."""
PATIENCE = 0.5
"""Seconds that one pack holds the next up at the most, by its opening and by its first calls."""


async def open_in_turn(packs: Sequence[Lifecycle]) -> None:
    """Begin to open these packs, which are held: first those that calls wait for, then the rest.

    A pack begins once those before it are open and have no call, and at once when a call comes.
    """
    begun = [asyncio.create_task(pack.begun()) for pack in packs]
    try:
        await asyncio.wait(begun, timeout=PAUSE, return_when=asyncio.FIRST_COMPLETED)
        for pack in packs:
            at_work = [each for each in packs if each.has_begun]
            if not pack.has_begun and at_work:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        await asyncio.gather(*(each.unused() for each in at_work))
            pack.begin()
    finally:
        for task in begun:
            task.cancel()
