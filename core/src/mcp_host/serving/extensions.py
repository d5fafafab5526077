"""The protocol's extensions that packs bring: their methods and notifications, by the SDK."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from pydantic import ConfigDict

from ..declarations.extension import Method
from ..errors import ProtocolError
from ..host import Host
from .channel import CallChannel
from .connections import Connections
from .handlers import add_handler
from .requests import Ctx, check_name_header
from .server import LegacyAwareServer

log = logging.getLogger("mcp_host.server")


class ExtensionParams(types.RequestParams):
    """The parameters of an extension's method, which checks them itself."""

    model_config = ConfigDict(extra="allow")


class ExtensionNotice(types.NotificationParams):
    """The parameters of an extension's notification, which checks them itself."""

    model_config = ConfigDict(extra="allow")


class Extensions:
    """The extensions of a host's packs, on its server."""

    def __init__(self, host: Host, server: LegacyAwareServer, connections: Connections) -> None:
        self._host = host
        self._server = server
        self._connections = connections

    def serve(self) -> None:
        """Serve the extensions that listed packs have now."""
        inventory = self._host.inventory
        self._server.extensions = {name: dict(told) for name, told in inventory.extensions.items()}
        for pack in inventory.packs.values():
            for extension in pack.declared.extensions if pack.declared is not None else ():
                for one in extension.methods:
                    called = partial(self._call_method, one)
                    add_handler(self._server, one.name, ExtensionParams, called)
                for one in extension.notifications:
                    notified = partial(self._notified, one.name)
                    self._server.add_notification_handler(one.name, ExtensionNotice, notified)

    async def wait_for_late(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Have a method that nobody serves wait for packs that are being imported; middleware.

        It waits as long as a call may take. The handshake never waits: nothing is read meanwhile.
        """
        is_request = ctx.request_id is not None and ctx.method != "initialize"
        if is_request and self._server.get_request_handler(ctx.method) is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._host.settings.host.timeout):
                    await self._host.imported()
        return await call_next(ctx)

    async def _call_method(self, method: Method, ctx: Ctx, params: Any) -> dict[str, Any]:
        given = {key: value for key, value in (ctx.params or {}).items() if key != "_meta"}
        check_name_header(ctx, given.get(method.named_by) if method.named_by else None)
        channel = CallChannel(ctx, self._connections.of(ctx))
        context = self._host.context(self._connections.caller(ctx), channel)
        result = await self._host.call_method(method.name, given, context)
        await channel.flush()
        return result

    async def _notified(self, name: str, ctx: Ctx, params: Any) -> None:
        given = {k: v for k, v in params.model_dump(by_alias=True).items() if k != "_meta"}
        context = self._host.context(self._connections.caller(ctx))
        try:
            await self._host.call_method(name, given, context)
        except ProtocolError as error:  # nobody waits for an answer; the log has the call
            log.debug("%s: %s", name, error)
