"""The host as the SDK's lowlevel Server. With transports/ the only room that imports the SDK.

Handlers return plain dicts in wire names: the SDK sieves them for the protocol version and stamps
them, so nothing of the host is translated into SDK models and back.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import trace
from pydantic import BaseModel, TypeAdapter

from .asking import Answers
from .catalog import What
from .context import LEVELS, Caller, Level
from .errors import Busy, Cancelled, McpHostError, ProtocolError, Unsupported, as_protocol_error
from .host import LISTS_CHANGED, Host

log = logging.getLogger("mcp_host.server")

# Asking and logging are deprecated in the protocol, and served all the same.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning, module=r"mcp_host\.server")

Ctx: TypeAlias = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Ctx, Any], Awaitable[dict[str, Any]]]

STDIO = "stdio"
CONNECTIONS = 10_000
WATCHED = 10_000
ACKNOWLEDGED = 0.05
"""Seconds after which a new listen stream has surely been acknowledged to its client."""
LIST_TTL_MS = 60_000
LIST_METHODS: Mapping[str, What] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_QUESTION: TypeAdapter[Any] = TypeAdapter(types.ServerRequest)
_ANSWERS: Mapping[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_LIST_EVENTS = (ToolsListChanged, PromptsListChanged, ResourcesListChanged)
_LIST_NOTICES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)


class _Truthful(Server[Any]):
    """Tells handshake-era clients what is so: lists change, unless nothing can reach them."""

    reaches_legacy = True

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> Any:
        options = notification_options or NotificationOptions(
            self.reaches_legacy, self.reaches_legacy, self.reaches_legacy
        )
        return super().create_initialization_options(options, *more, **named)

    def get_capabilities(
        self,
        *more: Any,
        protocol_version: str | None = None,
        **named: Any,
    ) -> types.ServerCapabilities:
        told = super().get_capabilities(*more, protocol_version=protocol_version, **named)
        if self.reaches_legacy or protocol_version in MODERN_PROTOCOL_VERSIONS:
            return told
        resources = told.resources and told.resources.model_copy(update={"subscribe": False})
        return told.model_copy(update={"resources": resources, "logging": None})


class _Connection:
    """One handshake-era connection: how to reach it outside a call, and what it asked for."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        self.session: Any = None
        self.level: Level = "debug"
        self.watched: set[str] = set()


class _Outbox:
    """Sends one after the other, in the order given; `post` may be called in any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], Awaitable[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def post(self, send: Callable[[], Awaitable[Any]]) -> None:
        try:
            self._loop.call_soon_threadsafe(self.take, send)
        except RuntimeError:  # the loop has ended: nobody is left to hear it
            return

    def take(self, send: Callable[[], Awaitable[Any]]) -> None:
        """As `post`, on the loop itself."""
        self._waiting.append(send)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            try:
                await self._waiting.popleft()()
            except Exception as error:
                log.debug("a message could not be sent: %s", error)

    async def flush(self) -> None:
        """Wait until all that was posted is sent."""
        if self._task is not None:
            await self._task


class _Way:
    """The way back to the client of one call."""

    def __init__(self, adapter: Adapter, ctx: Ctx) -> None:
        self._adapter, self._ctx = adapter, ctx
        self._outbox: _Outbox | None = None
        self._loop = asyncio.get_running_loop()
        self.flush: Callable[[], Awaitable[None]] = _nothing

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self._post(partial(self._ctx.session.report_progress, done, total, message))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        connection = self._adapter.connection(self._ctx)
        if connection is not None and LEVELS.index(level) < LEVELS.index(connection.level):
            return
        send = self._ctx.session.send_log_message
        self._post(partial(send, level, data, logger, related_request_id=self._ctx.request_id))

    def close_stream(self) -> None:
        if self._ctx.close_sse_stream is not None:
            self._post(self._ctx.close_sse_stream)

    def _post(self, send: Callable[[], Awaitable[Any]]) -> None:
        self._loop.call_soon_threadsafe(self._post_here, send)

    def _post_here(self, send: Callable[[], Awaitable[Any]]) -> None:
        if self._outbox is None:
            self._outbox = _Outbox()
            self.flush = self._outbox.flush
        self._outbox.take(send)


async def _cannot_ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
    raise Unsupported(
        "This server keeps no sessions, so it cannot ask clients that speak a protocol before "
        "2026-07-28",
        details={"reason": "stateless"},
    )


async def _nothing() -> None:
    """There is nothing to send."""


class Adapter:
    """One host, served by the SDK; transports run `server`.

    `stale` says that the client was shown lists which have changed since: it is told as soon as it
    can be.
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
    ) -> None:
        self.host = host
        self._stale = stale
        self._bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self._bus)
        self._connections: OrderedDict[str, _Connection] = OrderedDict()
        self._outbox: _Outbox | None = None
        self._nobody = asyncio.Event()
        self._closing = False
        self.server = _Truthful(
            name,
            version=version,
            title=title,
            instructions=host.instructions,
            get_tool_input_schema=host.input_schema,
            cache_hints={method: CacheHint(ttl_ms=LIST_TTL_MS) for method in LIST_METHODS},  # type: ignore[misc]
        )
        self.server.reaches_legacy = not stateless
        key = host.settings.host.state_key
        security = RequestStateSecurity(keys=[key]) if key else RequestStateSecurity.ephemeral()
        if not _is_traced():
            self.server.middleware[:] = filter(_makes_no_spans, self.server.middleware)
        self.server.middleware.append(RequestStateBoundary(security, default_audience=name))
        self._register(stateless)

    def _register(self, stateless: bool) -> None:
        for method, what in LIST_METHODS.items():
            self._add(method, types.PaginatedRequestParams, partial(self._list, what))
        self._add("tools/call", types.CallToolRequestParams, self._call_tool)
        self._add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        self._add("resources/read", types.ReadResourceRequestParams, self._read)
        self._add("completion/complete", types.CompleteRequestParams, self._complete)
        self._add("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self._add("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        self._add("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        self.server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen
        )
        if not stateless:
            self.server.add_notification_handler(
                "notifications/initialized", types.NotificationParams, self._initialized
            )

    def attach(self) -> Callable[[], None]:
        """Pass the host's changes on to clients, until the returned function is called."""
        self._outbox = _Outbox()
        return self.host.listen(self._changed)

    def close_streams(self) -> None:
        """End every open `subscriptions/listen` stream with its result."""
        self._closing = True
        self.listening.close()

    def nobody_answers(self) -> None:
        """The client's input has ended: calls that wait for its answer are over."""
        self._nobody.set()

    def forget(self, session_id: str) -> None:
        """An HTTP session has ended."""
        self._connections.pop(session_id, None)

    # -- requests

    def _add(self, method: str, params: type[BaseModel], handle: Handler) -> None:
        async def guarded(ctx: Ctx, given: Any) -> dict[str, Any]:
            try:
                result = await handle(ctx, given)
            except ProtocolError as error:
                raise MCPError(error.number, str(error), error.data) from None
            except McpHostError as error:
                plain = as_protocol_error(error, error.envelope(str(uuid.uuid4())))
                raise MCPError(plain.number, str(plain), plain.data) from None
            except MCPError:
                raise
            except Exception:  # the handshake era would send its text to the client
                log.exception("%s failed", method)
                raise MCPError(types.INTERNAL_ERROR, "Internal error") from None
            if _is_modern(ctx):
                return {"resultType": "complete", **result}
            return result

        self.server.add_request_handler(method, params, guarded)

    async def _list(self, what: What, ctx: Ctx, params: Any) -> dict[str, Any]:
        cursor = params.cursor if params is not None else None
        return self.host.page(what, cursor, self._caller(ctx))

    async def _call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> dict[str, Any]:
        return await self._with_way(
            ctx, partial(self.host.call_tool, params.name, params.arguments or {})
        )

    async def _get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> dict[str, Any]:
        return await self._with_way(
            ctx, partial(self.host.get_prompt, params.name, params.arguments or {})
        )

    async def _read(self, ctx: Ctx, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        return await self._with_way(ctx, partial(self.host.read, str(params.uri)))

    async def _complete(self, ctx: Ctx, params: types.CompleteRequestParams) -> dict[str, Any]:
        earlier = params.context.arguments if params.context else None
        return await self.host.complete(
            params.ref.model_dump(by_alias=True),
            params.argument.name,
            params.argument.value,
            earlier or {},
            self._caller(ctx),
        )

    async def _with_way(self, ctx: Ctx, call: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
        way = _Way(self, ctx)
        context = self.host.context(self._caller(ctx), way)
        result: dict[str, Any] = await call(context, **self._asking(ctx))
        await way.flush()  # what the call said must reach the client before its answer
        return result

    def _asking(self, ctx: Ctx) -> dict[str, Any]:
        raw = ctx.params or {}  # plain data, its request state already unsealed
        if _is_modern(ctx):
            return {"answers": Answers(raw.get("inputResponses"), raw.get("requestState"))}
        if not ctx.session.can_send_request:
            return {"live": _cannot_ask}
        return {"live": partial(self._ask_live, ctx)}

    async def _ask_live(self, ctx: Ctx, question: Mapping[str, Any]) -> Mapping[str, Any]:
        request = _QUESTION.validate_python(question)
        asking = asyncio.ensure_future(
            ctx.session.send_request(
                request,
                _ANSWERS[request.method],
                # Without it the question goes to the GET stream, and is lost where none is open.
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
        )
        gone = asyncio.ensure_future(self._nobody.wait())
        try:
            await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise Cancelled("The client has gone", details={"reason": "client_gone"})
            reply = asking.result()
        except MCPError as error:
            raise Cancelled(
                f"The client did not answer: {error}", details={"reason": "client_refused"}
            ) from None
        finally:
            asking.cancel()
            gone.cancel()
        data: dict[str, Any] = reply.model_dump(by_alias=True, mode="json", exclude_none=True)
        return data

    def _caller(self, ctx: Ctx) -> Caller:
        session = ctx.session
        offered = session.client_capabilities
        info = session.client_params.client_info if session.client_params else None
        subject, scopes = _identity(ctx)
        return Caller(
            subject=subject,
            scopes=scopes,
            client=info.name if info else None,
            connection=self._connection_id(ctx),
            protocol=ctx.protocol_version,
            offers=frozenset(name for name, value in offered or () if value is not None),
        )

    # -- connections

    def connection(self, ctx: Ctx) -> _Connection | None:
        """The record of a handshake-era connection; None in the other era."""
        if _is_modern(ctx):
            return None
        key = _headers(ctx).get("mcp-session-id") if ctx.request is not None else STDIO
        if key is None:
            return None
        return self._record(key)

    def _record(self, key: str) -> _Connection:
        record = self._connections.get(key)
        if record is None:
            record = self._connections[key] = _Connection()
        self._connections.move_to_end(key)
        if len(self._connections) > CONNECTIONS:  # sessions that ended without a word
            self._connections.popitem(last=False)
        return record

    def _connection_id(self, ctx: Ctx) -> str:
        connection = self.connection(ctx)
        if connection is not None:
            return connection.id
        if ctx.request is None:
            return self._record(STDIO).id
        peer = getattr(ctx.request, "client", None)
        return f"{peer.host}:{peer.port}" if peer else "http"

    async def _initialized(self, ctx: Ctx, params: Any) -> None:
        connection = self.connection(ctx)
        if connection is not None:
            connection.session = ctx.session
            self._tell_stale()

    async def _set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> dict[str, Any]:
        connection = self.connection(ctx)
        if connection is not None:
            connection.level = params.level
        return {}

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> dict[str, Any]:
        self.host.check_access(str(params.uri), self._caller(ctx))
        connection = self.connection(ctx)
        if connection is not None:
            if len(connection.watched) >= WATCHED:
                raise Busy(f"This connection watches {WATCHED} resources already")
            connection.watched.add(str(params.uri))
        return {}

    async def _unsubscribe(
        self, ctx: Ctx, params: types.UnsubscribeRequestParams
    ) -> dict[str, Any]:
        connection = self.connection(ctx)
        if connection is not None:
            connection.watched.discard(str(params.uri))
        return {}

    async def _listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> Any:
        caller = self._caller(ctx)
        for uri in params.notifications.resource_subscriptions or ():
            try:
                self.host.check_access(str(uri), caller)
            except McpHostError as error:
                plain = as_protocol_error(error, error.envelope(str(uuid.uuid4())), str(uri))
                raise MCPError(plain.number, str(plain), plain.data) from None
        later = asyncio.get_running_loop().call_later
        if self._stale:
            later(ACKNOWLEDGED, self._tell_stale)
        if self._closing:  # it was asked for before the end, and begins after it
            later(ACKNOWLEDGED, self.listening.close)
        return await self.listening(ctx, params)

    def _tell_stale(self) -> None:
        if self._stale:
            self._changed(LISTS_CHANGED)

    # -- changes

    def _changed(self, what: str) -> None:
        assert self._outbox is not None  # `attach` made it before it listened
        if what == LISTS_CHANGED:
            self.server.instructions = self.host.instructions
            self._outbox.post(self._lists_changed)
        else:
            self._outbox.post(partial(self._resource_changed, what))

    async def _lists_changed(self) -> None:
        for event in _LIST_EVENTS:
            await self._bus.publish(event())
        for connection in list(self._connections.values()):
            if connection.session is not None:
                for notice in _LIST_NOTICES:
                    await connection.session.send_notification(notice())

    async def _resource_changed(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection in list(self._connections.values()):
            if connection.session is not None and uri in connection.watched:
                await connection.session.send_resource_updated(uri)


def _is_traced() -> bool:
    """Whether OpenTelemetry was set up: its API alone makes spans that go nowhere, 30 µs a call."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _makes_no_spans(middleware: object) -> bool:
    return type(middleware).__name__ != "OpenTelemetryMiddleware"  # the SDK's own, a private class


def _is_modern(ctx: Ctx) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _headers(ctx: Ctx) -> Mapping[str, str]:
    return getattr(ctx.request, "headers", {})


def _identity(ctx: Ctx) -> tuple[str | None, frozenset[str] | None]:
    """The subject and scopes of the request's token; None and None without tokens."""
    user = (getattr(ctx.request, "scope", None) or {}).get("user")
    token = getattr(user, "access_token", None)
    if token is None:
        return None, None
    return token.subject, frozenset(token.scopes)
