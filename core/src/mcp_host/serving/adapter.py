"""One host as a server of the SDK: the protocol's requests, handed on as plain data.

With what is beside it in this room, the only code of the core that imports the SDK. Handlers return
plain dicts in wire names: the SDK sieves them for the protocol version and stamps them, so nothing
of the host is translated into SDK models and back.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPDeprecationWarning

from ..declarations.context import Caller
from ..errors import Busy, CallError
from ..host import LISTS_CHANGED, Host
from ..middleware.call import Asking
from ..packs.entry import What
from ..runtime.messages import Answered
from ..startup.protocol import LIST_TTL_MS, LISTS
from .borrowed.sdk import without_spans
from .changes import Changes
from .channel import CallChannel
from .connections import Connections
from .extensions import Extensions
from .following import Following
from .handlers import add_handler, as_mcp_error, as_protocol_errors
from .lane.lane import is_traced, lane_of
from .lane.sessions import BEGUN, BegunCall
from .questions import LiveQuestions
from .requests import Ctx, is_modern, scope
from .server import LegacyAwareServer

log = logging.getLogger("mcp_host.server")

# Asking and logging are deprecated in the protocol, and served all the same.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning, module=r"mcp_host\.serving")

LARGE = 64 * 1024
"""Bytes of an answer that is parsed in a thread."""
WATCHED = 10_000
"""How many resources one connection may watch."""


class Adapter:
    """One host, served by the SDK; transports run `server`.

    `stateless` says that no session is kept, `stale` that the client was shown lists which have
    changed since; `connections` are those that there are already. It is made on the loop that
    serves. `lane` is None where every request goes through the SDK.
    """

    def __init__(
        self,
        host: Host,
        *,
        name: str,
        version: str,
        title: str | None = None,
        stateless: bool = False,
        stale: bool = False,
        connections: Connections | None = None,
    ) -> None:
        self.host = host
        self.connections = connections or Connections(host, keeps_sessions=not stateless)
        self._changes = Changes(self.connections, is_stale=stale)
        self._questions = LiveQuestions()
        self.server = LegacyAwareServer(
            name,
            version=version,
            title=title,
            instructions=host.instructions,
            get_tool_input_schema=host.input_schema,
            cache_hints={method: CacheHint(ttl_ms=LIST_TTL_MS) for method in LISTS},  # type: ignore[misc]  # a Literal's values, told once
        )
        self.server.reaches_legacy = not stateless
        if is_traced():
            from .telemetry import Telemetry  # a host without starts faster without

            self.server.middleware.append(Telemetry(host, self.connections))
        else:
            without_spans(self.server)
        key = host.settings.host.state_key
        security = RequestStateSecurity(keys=[key]) if key else RequestStateSecurity.ephemeral()
        self.server.middleware.append(RequestStateBoundary(security, default_audience=name))
        self._extensions = Extensions(host, self.server, self.connections)
        self.server.middleware.append(self._extensions.wait_for_late)
        self._following = Following(host)
        self._register(stateless)
        self._extensions.serve()
        self.lane = lane_of(host, self.server.server_info_stamp)

    def attach(self) -> Callable[[], None]:
        """Pass the host's changes on to clients, until the returned function is called."""
        return self.host.changes.listen(self._changed, self._is_told)

    def close_streams(self) -> None:
        """End every open `subscriptions/listen` stream with its result."""
        self._changes.close_streams()

    def stop_asking(self) -> None:
        """End the calls that wait for a client's answer: its input has ended."""
        self._questions.end()

    def _is_told(self, uri: str) -> bool:
        """Whether any client is to be told that a resource changed; in any thread."""
        return self.host.watching.is_watched(uri) or self._following.is_followed(uri)

    def _changed(self, what: str) -> None:
        if what == LISTS_CHANGED:
            self.server.instructions = self.host.instructions
            self._extensions.serve()
            self._changes.lists_changed()
        else:
            self._following.changed(what)
            if self.host.watching.is_watched(what):
                self._changes.resource_changed(what)

    def _register(self, stateless: bool) -> None:
        add = partial(add_handler, self.server)
        for method, what in LISTS.items():
            add(method, types.PaginatedRequestParams, partial(self._list, what))
        add("tools/call", types.CallToolRequestParams, self._call_tool)
        add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        add("resources/read", types.ReadResourceRequestParams, self._read)
        add("completion/complete", types.CompleteRequestParams, self._complete)
        add("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        add("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        add("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        self.server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen
        )
        if not stateless:
            self.server.add_notification_handler(
                "notifications/initialized", types.NotificationParams, self._initialized
            )

    async def _list(self, what: What, ctx: Ctx, params: Any) -> dict[str, Any]:
        cursor = params.cursor if params is not None else None
        page = self.host.page(what, cursor, self.connections.caller(ctx))
        if is_modern(ctx) and self.host.inventory.may_change:
            return {**page, "ttlMs": 0}
        return page

    async def _call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> dict[str, Any]:
        return await self._call(
            ctx, partial(self.host.call_tool, params.name, params.arguments or {})
        )

    async def _get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> dict[str, Any]:
        return await self._call(
            ctx, partial(self.host.get_prompt, params.name, params.arguments or {})
        )

    async def _read(self, ctx: Ctx, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        return await self._call(ctx, partial(self.host.read, str(params.uri)))

    async def _call(self, ctx: Ctx, call: Callable[..., Awaitable[Answered]]) -> dict[str, Any]:
        channel = CallChannel(ctx, self.connections.of(ctx))
        begun: BegunCall | None = scope(ctx).get(BEGUN)
        if begun is not None:
            answered = await begun.outcome(channel)
        else:
            context = self.host.context(self.connections.caller(ctx), channel)
            answered = await call(context, self._asking(ctx))
        await channel.flush()  # what the call said must reach the client before its answer
        return await _data(answered)

    def _asking(self, ctx: Ctx) -> Asking:
        """How the client is asked: with what it answered already, or during the call."""
        if is_modern(ctx):
            raw = ctx.params or {}  # plain data, its request state already unsealed
            return Asking(raw.get("inputResponses") or {}, raw.get("requestState"))
        return Asking(ask=partial(self._questions.ask, ctx))

    async def _complete(self, ctx: Ctx, params: types.CompleteRequestParams) -> dict[str, Any]:
        earlier = params.context.arguments if params.context else None
        return await self.host.complete(
            params.ref.model_dump(by_alias=True),
            params.argument.name,
            params.argument.value,
            earlier or {},
            self.connections.caller(ctx),
        )

    async def _initialized(self, ctx: Ctx, params: Any) -> None:
        connection = self.connections.of(ctx)
        if connection is not None:
            connection.session = ctx.session
            connection.caller = self.connections.caller(ctx)
            self._changes.tell_if_stale()

    async def _set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> dict[str, Any]:
        connection = self.connections.of(ctx)
        if connection is not None:
            connection.level = params.level
        return {}

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> dict[str, Any]:
        self.host.check_access(str(params.uri), self.connections.caller(ctx))
        connection = self.connections.of(ctx)
        if connection is not None:
            if len(connection.watched) >= WATCHED:
                raise Busy(f"This connection watches {WATCHED} resources already")
            caller = self.connections.caller(ctx)
            self.host.watching.begin(connection.watched, str(params.uri), caller)
        return {}

    async def _unsubscribe(
        self, ctx: Ctx, params: types.UnsubscribeRequestParams
    ) -> dict[str, Any]:
        connection = self.connections.of(ctx)
        if connection is not None:
            self.host.watching.end(connection.watched, str(params.uri))
        return {}

    async def _listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> Any:
        caller = self.connections.caller(ctx)
        for uri in params.notifications.resource_subscriptions or ():
            try:
                self.host.check_access(str(uri), caller)
            except CallError as error:
                raise as_mcp_error(error, str(uri)) from None
        with as_protocol_errors():
            wanted = self._following.wanted(ctx, caller)
            if not wanted:
                return await self._listen_to(ctx, params, caller)
            stream, ctx = await self._following.begin(ctx, caller, wanted)
        with self._following.telling(stream):
            return await self._listen_to(ctx, params, caller)

    async def _listen_to(
        self, ctx: Ctx, params: types.SubscriptionsListenRequestParams, caller: Caller
    ) -> Any:
        watched: set[str] = set()
        for uri in params.notifications.resource_subscriptions or ():
            self.host.watching.begin(watched, str(uri), caller)
        try:
            return await self._changes.listen(ctx, params)
        finally:
            self.host.watching.end_all(watched)


async def _data(answered: Answered) -> dict[str, Any]:
    """Return an answer as the SDK takes it; a large one is parsed off the loop."""
    if len(answered.body) > LARGE:
        return await asyncio.to_thread(lambda: answered.data)
    return answered.data
