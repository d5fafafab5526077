"""The SDK's side of one server, which is imported when it is needed, and no earlier."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..host import LISTS_CHANGED, Host
from ..packs.importing import once_more
from ..startup.catalogue import Catalogue
from . import logs
from .connections import Connections
from .lane.lane import Lane, lane_of

if TYPE_CHECKING:
    from .adapter import Adapter

SWITCH_INTERVAL = 0.0005
"""Seconds that the thread which loads may hold the interpreter, while calls are answered."""


class SdkSide:
    """Makes the one adapter of a server when it is asked for.

    `catalogue` tells what is shown now. `is_stale` says that the client was shown lists which have
    changed since, and `on_stale` is called when that comes about before there is an adapter. It is
    made on the loop that serves. `connection` names the client on standard input, where another
    process has served it before, or may go on.

    Invariants: there is one adapter at most, made once `_loading` has ended. `_detach` ends what
    hears of the host's changes: this object, and the adapter from when it is there. `is_stale`
    never changes back.
    """

    def __init__(
        self,
        host: Host,
        catalogue: Callable[[], Catalogue],
        *,
        stateless: bool,
        stale: bool,
        connection: str = "",
    ) -> None:
        shown = catalogue()
        self.catalogue = catalogue
        self.connections = Connections(host, keeps_sessions=not stateless, stdio=connection)
        self.is_stale = stale
        self.on_stale: Callable[[], None] | None = None
        self.lane: Lane | None = lane_of(host, shown.info)
        self._host = host
        self._name, self._version, self._title = shown.name, shown.version, shown.title
        self._stateless = stateless
        self._adapter: Adapter | None = None
        self._loading: asyncio.Task[None] | None = None
        self._detach = host.changes.listen(self._changed, wants=lambda uri: False)

    async def adapter(self) -> Adapter:
        """Return the adapter; the first time it is made, and hears of changes from then on."""
        if self._adapter is None:
            self.load_behind()
            assert self._loading is not None
            await self._loading
            from .adapter import Adapter  # imports the SDK

            self._adapter = Adapter(
                self._host,
                name=self._name,
                version=self._version,
                title=self._title,
                stateless=self._stateless,
                stale=self.is_stale,
                connections=self.connections,
            )
            self._detach()
            self._detach = self._adapter.attach()
        return self._adapter

    def load_behind(self, then: Callable[[], None] | None = None) -> None:
        """Begin to import the SDK in a thread, unless that was begun; `then` hears of the end."""
        if self._loading is None:
            self._loading = asyncio.create_task(_load())
        if then is not None:
            self._loading.add_done_callback(lambda _: then())

    def close_streams(self) -> None:
        """End every open `subscriptions/listen` stream with its result."""
        if self._adapter is not None:
            self._adapter.close_streams()

    def detach(self) -> None:
        """Hear of no more changes."""
        self._detach()

    def _changed(self, what: str) -> None:
        if what == LISTS_CHANGED:
            self.is_stale = True
            if self.on_stale is not None:
                self.on_stale()


async def _load() -> None:
    if "mcp_host.serving.adapter" in sys.modules:
        return
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        await asyncio.to_thread(once_more, _import)
    finally:
        sys.setswitchinterval(usual)
    logs.keep_ours()


def _import() -> None:
    from . import adapter  # noqa: F401 - loaded here, used later
    from .transports.stdio import session  # noqa: F401 - as above
