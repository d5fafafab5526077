"""What changes in the host, told to the clients that want to hear it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from .connections import Connections
from .outbox import Outbox
from .requests import Ctx

log = logging.getLogger("mcp_host.server")

ACKNOWLEDGED = 0.05
"""Seconds after which a new listen stream has surely been acknowledged to its client."""
WAITING = 10_000
"""The most changed resources that wait to be told; of more, the newest are not."""
PORTION = 64
"""How many are told at once; the loop has other things to do between."""
_EVENTS = (ToolsListChanged, PromptsListChanged, ResourcesListChanged)
_NOTICES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)


class Changes:
    """Tells clients of changes: by listen streams, or by notices to handshake-era connections.

    `is_stale` says that the client was shown lists which have changed since: it is told as soon as
    it can be.
    """

    def __init__(self, connections: Connections, *, is_stale: bool) -> None:
        self._connections = connections
        self._is_stale = is_stale
        self._is_closing = False
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._outbox = Outbox()
        self._waiting: dict[str, None] = {}
        self._are_told = False
        self._lists_wait = False

    def lists_changed(self) -> None:
        """Tell every client that its lists are others now; once for all changes until it is."""
        if not self._lists_wait:
            self._lists_wait = True
            self._outbox.post(self._send_lists_changed)

    def resource_changed(self, uri: str) -> None:
        """Tell the clients that watch a resource that it changed; once, until they are told."""
        if uri in self._waiting or len(self._waiting) >= WAITING:
            return
        self._waiting[uri] = None
        if not self._are_told:
            self._are_told = True
            self._outbox.post(self._send_resources_changed)

    def tell_if_stale(self) -> None:
        """Tell a client that can be told now that what it was shown has changed."""
        if self._is_stale:
            self.lists_changed()

    async def listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> Any:
        """Serve a listen stream to its end."""
        if self._is_stale:
            self._when_acknowledged(self.tell_if_stale)
        if self._is_closing:  # it was asked for before the end, and begins after it
            self._when_acknowledged(self._streams.close)
        return await self._streams(ctx, params)

    def close_streams(self) -> None:
        """End every listen stream with its result."""
        self._is_closing = True
        self._streams.close()

    def _when_acknowledged(self, function: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(ACKNOWLEDGED, function)

    async def _send_lists_changed(self) -> None:
        self._lists_wait = False
        for event in _EVENTS:
            await self._bus.publish(event())
        for connection in self._connections.reachable():
            for notice in _NOTICES:
                await connection.session.send_notification(notice())

    async def _send_resources_changed(self) -> None:
        try:
            for number in count(1):
                if not self._waiting:
                    return
                uri = next(iter(self._waiting))
                del self._waiting[uri]  # a change from now on is told once more
                try:
                    await self._send_resource_changed(uri)
                except Exception as error:  # as of a connection that has gone; others wait
                    log.debug("a message could not be sent: %s", error)
                if number % PORTION == 0:
                    await asyncio.sleep(0)
        finally:
            self._are_told = False

    async def _send_resource_changed(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection in self._connections.reachable():
            if uri in connection.watched:
                await connection.session.send_resource_updated(uri)
