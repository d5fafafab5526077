"""What makes the host of this process reload: a signal, a command, or a changed file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from ...host import Host
from ...settings.loading import Settings
from .control import Control
from .reloading import Reloading


class Reloads:
    """Reloads the one host of a process from `open` to `close`; where it `watches`, by itself."""

    def __init__(self, host: Host, read: Callable[[], Settings], *, watches: bool) -> None:
        self._reloading = Reloading(host, read)
        self._control = Control(lambda: [self._reloading.about()], self._all, self._hosts)
        self._host = host
        self._watches = watches
        self._watching: asyncio.Task[None] | None = None

    def soon(self) -> None:
        """Reload without waiting for it."""
        self._reloading.soon()

    async def open(self) -> None:
        """Listen to commands, and watch."""
        await self._control.open()
        if self._watches:
            self._watching = asyncio.create_task(self._reloading.watch())

    def close(self) -> None:
        """Hear of nothing more."""
        if self._watching is not None:
            self._watching.cancel()
        self._reloading.close()
        self._control.close()

    async def _all(self, settings: str | None, anew: Collection[str]) -> list[dict[str, Any]]:
        return [await self._reloading.reload(anew)] if self._is_meant(settings) else []

    def _hosts(self, settings: str | None) -> list[Host]:
        return [self._host] if self._is_meant(settings) else []

    def _is_meant(self, settings: str | None) -> bool:
        return settings in (None, self._reloading.source)
