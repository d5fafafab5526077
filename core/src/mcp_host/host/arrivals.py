"""Waiting for packs: until they are imported, until they are open, until a name may be there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..packs.pack import Pack
from ..runtime.running import RunningPacks
from .changes import ChangeListeners


class Arrivals:
    """Waits for packs that are imported late or that open slowly; on the host's loop."""

    def __init__(self, running: RunningPacks, changes: ChangeListeners) -> None:
        self._running = running
        self._changes = changes

    async def imported(self, packs: Sequence[Pack]) -> bool:
        """Wait until these packs are imported, or have failed to be.

        Return whether there was anything to wait for.
        """
        if not any(pack.is_loading for pack in packs):
            return False
        changed = asyncio.Event()
        stop = self._changes.listen(lambda _: changed.set())
        try:
            while any(pack.is_loading for pack in packs):
                changed.clear()
                await changed.wait()
        finally:
            stop()
        return True

    async def opened(self, packs: Sequence[Pack]) -> None:
        """Wait until these packs are imported and open, or have failed to be."""
        await self.imported(packs)
        await self._running.decided(packs)

    async def listed(self, packs: Sequence[Pack]) -> bool:
        """Wait until these packs are imported, and those open that add to their lists.

        Return whether there was anything to wait for.
        """
        waited = await self.imported(packs)
        return await self._running.offered(packs) or waited
