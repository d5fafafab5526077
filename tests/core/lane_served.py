"""The application in process, with the pack of `lane_cases`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from lane_cases import comparable, lane_host, until
from mcp_host.serving.adapter import Adapter
from mcp_host.serving.lane.exchange import ON_GONE
from mcp_host.serving.transports.http.application import application
from mcp_host.serving.transports.http.routes import HealthRoutes
from mcp_host.serving.transports.http.sessions import HttpSession, Sessions
from mcp_host.serving.transports.http.tokens import Verifier
from sse_starlette.sse import AppStatus

TOKENS = [
    {"token": {"env": "ANN"}, "subject": "ann", "scopes": ["*"]},
    {"token": {"env": "BOB"}, "subject": "bob", "scopes": ["p:read"]},
]
BOTH = b"application/json, text/event-stream"
Headers = list[tuple[bytes, bytes]]


@dataclass
class Response:
    """What an application has sent."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    is_whole: bool = False

    async def take(self, told: Any) -> None:
        if told["type"] == "http.response.start":
            self.status, self.headers = told["status"], dict(told["headers"])
        else:
            self.body += told.get("body", b"")
            self.is_whole = not told.get("more_body", False)

    @property
    def kind(self) -> bytes:
        return self.headers.get(b"content-type", b"").partition(b";")[0]

    def plain(self) -> Any:
        """What a client sees: the messages, whatever they came in."""
        if self.kind == b"text/event-stream":
            lines = self.body.split(b"\r\n")
            told = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
            return self.status, self.kind, comparable(told)
        body = json.loads(self.body) if self.kind == b"application/json" else self.body
        return self.status, self.kind, comparable(body)


class Served:
    """The application in process, and how often the lane has answered."""

    def __init__(self, app: Any, adapter: Adapter, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions
        self.adapter = adapter
        self.taken = 0
        if adapter.lane is not None:
            self._count(adapter.lane)

    def session(self, client: "SessionClient") -> HttpSession:
        """The session of a client without a token, as the server keeps it."""
        found = self._sessions.find(client.session_id.decode(), None)
        assert found is not None
        return found

    def ends_at(self, client: "SessionClient") -> float:
        """When the session of a client ends for want of use, as the loop counts."""
        use = self.session(client).use
        assert use is not None
        return use.ends_at

    def _count(self, lane: Any) -> None:
        call = lane.call

        async def counting(*given_: Any) -> Any:
            self.taken += 1
            return await call(*given_)

        lane.call = counting

    async def post(
        self,
        headers: Headers,
        body: bytes,
        parts: int = 1,
        response: Response | None = None,
        method: str = "POST",
    ) -> Response:
        """Send a request in parts; its client stays until it is cancelled."""
        response = response or Response()
        size = max(1, -(-len(body) // parts))
        pieces = [body[n : n + size] for n in range(0, len(body), size)] or [b""]
        waiting = [
            {"type": "http.request", "body": piece, "more_body": n < len(pieces) - 1}
            for n, piece in enumerate(pieces)
        ]
        gone = asyncio.Event()
        hearing: list[Callable[[], object] | None] = [None]

        def on_gone(call: Callable[[], object] | None) -> None:
            hearing[0] = call

        async def receive() -> Any:
            if waiting:
                return waiting.pop(0)
            await gone.wait()
            return {"type": "http.disconnect"}

        scope = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "asgi": {"version": "3.0"},
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 5),
            "headers": headers,
            ON_GONE: on_gone,
        }
        call = asyncio.create_task(self._app(scope, receive, response.take))
        try:
            await asyncio.shield(call)
        except asyncio.CancelledError:  # the client goes
            gone.set()
            if hearing[0] is not None:
                hearing[0]()
            await call
        return response


@asynccontextmanager
async def served(
    lane: bool, tokens: bool = False, http: dict[str, Any] | None = None
) -> AsyncIterator[Served]:
    """The application with the pack of `lane_cases`."""
    AppStatus.should_exit = False  # a server of another test has ended in this process
    table = {**(http or {}), **({"tokens": TOKENS} if tokens else {})}
    async with lane_host(lane, http=table) as host:
        adapter = Adapter(host, name="mcp-host", version="1", title="T")
        settings = host.settings.http
        verifier = Verifier(lambda: settings.tokens)
        sessions = Sessions(settings, adapter.connections)
        routes = HealthRoutes(host, verifier)
        app = application(adapter, settings, 8000, routes, verifier, sessions)
        told: asyncio.Queue[Any] = asyncio.Queue()
        up, down = asyncio.Event(), asyncio.Event()

        async def send(message: Any) -> None:
            (up if message["type"] == "lifespan.startup.complete" else down).set()

        life = asyncio.create_task(app({"type": "lifespan"}, told.get, send))  # type: ignore[arg-type]
        told.put_nowait({"type": "lifespan.startup"})
        await up.wait()
        yield Served(app, adapter, sessions)
        told.put_nowait({"type": "lifespan.shutdown"})
        await life


def told(response: Response) -> list[Any]:
    """The messages of a response, whatever they came in."""
    if response.kind != b"text/event-stream":
        return [json.loads(response.body)] if response.body else []
    lines = response.body.split(b"\r\n")
    return [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]


class SessionClient:
    """A client of the handshake era, in a session of its own."""

    def __init__(self, app: Served, version: str = "2025-11-25", bearer: bytes = b"") -> None:
        self._app = app
        self.version = version
        self.bearer = bearer
        self.session_id = b""

    async def open(self, capabilities: Any = None) -> None:
        """Shake hands."""
        params = {
            "protocolVersion": self.version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        answered = await self.post({"id": "i", "method": "initialize", "params": params})
        self.session_id = answered.headers[b"mcp-session-id"]
        await self.post({"method": "notifications/initialized"})
        connection = self._app.adapter.connections.in_session(self.session_id.decode())
        await until(lambda: connection.caller)  # the SDK takes it after it has said so

    async def post(
        self, frame: dict[str, Any], response: Response | None = None, **headers: bytes
    ) -> Response:
        """Send one message."""
        body = json.dumps({"jsonrpc": "2.0", **frame}).encode()
        return await self._app.post(self.headers(body, **headers), body, response=response)

    async def call(
        self, name: str, request_id: Any = 1, response: Response | None = None, **meta: Any
    ) -> Response:
        """Call a tool of the pack without arguments."""
        params = {"name": f"p_{name}", "_meta": meta} if meta else {"name": f"p_{name}"}
        frame = {"id": request_id, "method": "tools/call", "params": params}
        return await self.post(frame, response)

    async def cancel(self, request_id: Any) -> Response:
        """Cancel a request."""
        params = {"requestId": request_id}
        return await self.post({"method": "notifications/cancelled", "params": params})

    async def end(self, method: str = "DELETE", **headers: bytes) -> Response:
        """End the session."""
        return await self._app.post(self.headers(b"", **headers), b"", method=method)

    async def resume(self, response: Response, last_event: bytes) -> Response:
        """Fetch what came after an event."""
        headers = self.headers(b"", last_event_id=last_event, accept=b"text/event-stream")
        return await self._app.post(headers, b"", response=response, method="GET")

    def headers(self, body: bytes, **changes: bytes) -> Headers:
        """What a good client sends, but for what is changed."""
        usual = {
            b"host": b"127.0.0.1:8000",
            b"content-type": b"application/json",
            b"accept": BOTH,
            b"content-length": str(len(body)).encode(),
        }
        if self.session_id:
            usual[b"mcp-session-id"] = self.session_id
            usual[b"mcp-protocol-version"] = self.version.encode()
        if self.bearer:
            usual[b"authorization"] = b"Bearer " + self.bearer
        changed = {name.replace("_", "-").encode(): value for name, value in changes.items()}
        return [(name, value) for name, value in (usual | changed).items() if value]
