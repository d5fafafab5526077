"""A pack's bus on the pack's side: opened around the service, told and heard in the pack's time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from ..declarations.bus import Bus, OpenBus
from ..declarations.handle import PackHandle
from . import bounds

log = logging.getLogger("mcp_host.packs")

WAITING = 10_000
"""The most notices that wait for a bus which cannot tell them; of more, the newest are lost."""
LAST = 1.0
"""Seconds that a pack which closes waits for its last notices to be told."""


class BusSide:
    """Tells the notices that wait one batch after the other; all methods belong to the pack's loop.

    `heard` is called with each notice of another process, in any thread.
    """

    def __init__(self, name: str, opens: OpenBus, heard: Callable[[str], None]) -> None:
        self._name = name
        self._opens = opens
        self._heard = heard
        self._waiting: dict[str, None] = {}
        self._came = asyncio.Event()
        self._is_told = asyncio.Event()
        self._is_told.set()

    def put(self, notices: Sequence[str]) -> None:
        """Have notices told as soon as they can be; one that waits already is told once."""
        for notice in notices:
            if len(self._waiting) < WAITING:
                self._waiting[notice] = None
        self._is_told.clear()
        self._came.set()

    @asynccontextmanager
    async def around(
        self,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]] | None,
        handle: PackHandle,
    ) -> AsyncIterator[Any]:
        """Open the bus, and the service within it; what the service changes last is told, too."""
        async with self._opens() as bus:
            end = bus.subscribe(self._heard)
            telling = asyncio.create_task(self._tell(bus))
            try:
                if opens is None:
                    yield None
                else:
                    async with opens(handle) as service:
                        yield service
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST):
                        await self._is_told.wait()
            finally:
                telling.cancel()
                end()

    async def _tell(self, bus: Bus) -> None:
        is_failing = False
        while True:
            await self._came.wait()
            self._came.clear()
            notices = list(self._waiting)
            self._waiting.clear()
            try:
                await bus.publish(notices)
                is_failing = False
            except Exception as error:
                if not is_failing:
                    why = bounds.text(f"{type(error).__name__}: {error}")
                    log.warning("pack %s: changes were not told to others: %s", self._name, why)
                is_failing = True
            if not self._waiting:
                self._is_told.set()
