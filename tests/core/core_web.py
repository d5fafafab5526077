"""Streamable HTTP spoken by hand: what no decent client would send must be answered as well."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
BOTH = "application/json, text/event-stream"
LONGEST = 30.0

TOKENS = {"ANN": "token-of-ann-0001", "BOB": "token-of-bob-0002", "CY": "token-of-cy-00003"}
THREE_CALLERS = """\
[http]
tokens = [
    { token = { env = "ANN" }, subject = "ann", scopes = ["*"] },
    { token = { env = "BOB" }, subject = "bob", scopes = ["*"] },
    { token = { env = "CY" }, subject = "cy", scopes = ["*"] },
]
"""
"""Settings that know the three by their tokens, which stand in the environment."""


class Web:
    """One caller at one server; `token` is its bearer token."""

    def __init__(self, url: str, token: str | None = None, **capabilities: Any) -> None:
        self.url, self.base = url, url.removesuffix("/mcp")
        self.capabilities = capabilities
        self.headers = {"Accept": BOTH}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.http = httpx2.AsyncClient(timeout=LONGEST)

    async def __aenter__(self) -> "Web":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.http.aclose()

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.http.get(self.base + path, headers={**self.headers, **headers})

    async def post(self, frame: Any, **headers: str) -> httpx2.Response:
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return await self.http.post(self.url, json=frame, headers=given)

    def modern(
        self, method: str, params: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """A request and its headers."""
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientCapabilities": self.capabilities,
            META + "clientInfo": {"name": "web", "version": "0"},
            **params.get("_meta", {}),
        }
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {**self.headers, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        name = params.get("name") or params.get("uri")
        return frame, {**headers, "Mcp-Name": name} if name else headers

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The last frame of the answer to a request of the stateless era."""
        frame, headers = self.modern(method, params)
        answer = await self.http.post(self.url, json=frame, headers=headers)
        return frames(answer.text)[-1]

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return await self.ask("tools/call", name=name, arguments=arguments)

    async def value(self, name: str, /, **arguments: Any) -> str:
        """The text of a tool's answer."""
        answer = await self.call(name, **arguments)
        return str(answer["result"]["content"][0]["text"])

    @asynccontextmanager
    async def stream(self, method: str, **params: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """The frames of a request's answer as they come; leaving it closes the connection."""
        frame, headers = self.modern(method, params)
        async with self.http.stream("POST", self.url, json=frame, headers=headers) as answer:
            yield _events(answer)

    async def session(self) -> "Session":
        """A new session."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "web", "version": "0"},
        }
        frame = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await self.post(frame)
        session = Session(self, answer.headers.get("mcp-session-id"), frames(answer.text)[-1])
        await session.notify("notifications/initialized")
        return session


class Session:
    def __init__(self, web: Web, id: str | None, greeting: dict[str, Any]) -> None:
        self.web, self.id, self.capabilities = web, id, greeting["result"]["capabilities"]

    @property
    def headers(self) -> dict[str, str]:
        own = {"mcp-session-id": self.id} if self.id else {}
        return {**own, "MCP-Protocol-Version": LEGACY}

    async def notify(self, method: str) -> None:
        await self.web.post({"jsonrpc": "2.0", "method": method}, **self.headers)

    async def request(self, method: str, id: int = 1, **params: Any) -> httpx2.Response:
        frame = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return await self.web.post(frame, **self.headers)

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self.request("tools/call", name=name, arguments=arguments)
        return frames(answer.text)[-1]

    @asynccontextmanager
    async def stream(self, method: str, **params: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """The frames that a request brings, as they come."""
        frame = {"jsonrpc": "2.0", "id": 9, "method": method, "params": params}
        given = {**self.web.headers, **self.headers}
        async with self.web.http.stream("POST", self.web.url, json=frame, headers=given) as answer:
            yield _events(answer)

    @asynccontextmanager
    async def listen(self, **headers: str) -> AsyncIterator[AsyncIterator[Any]]:
        """The GET stream of the session, or one to be taken up again by `Last-Event-ID`."""
        given = {**self.web.headers, **self.headers, **headers}
        async with self.web.http.stream("GET", self.web.url, headers=given) as answer:
            yield _events(answer)


def frames(text: str) -> list[Any]:
    """The frames of a body, be it JSON or a stream of events."""
    if text.lstrip().startswith("{"):
        return [json.loads(text)]
    data = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(one) for one in data if one]


def event_ids(text: str) -> list[str]:
    return [line[3:].strip() for line in text.splitlines() if line.startswith("id:")]


async def _events(answer: httpx2.Response) -> AsyncIterator[Any]:
    async for line in answer.aiter_lines():
        if line.startswith("{"):
            yield json.loads(line)
        elif line.startswith("data:") and line[5:].strip():
            yield json.loads(line[5:])
