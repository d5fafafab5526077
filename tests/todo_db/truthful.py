"""Somebody who calls over HTTP and counts what the answers say."""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
TOKEN = "token-of-ann-for-two-hosts"


class CallRefused(Exception):
    """An error of a tool, with its envelope."""

    def __init__(self, envelope: dict[str, Any]) -> None:
        super().__init__(str(envelope))
        self.envelope = envelope


@dataclass
class Caller:
    """Ann, at one address."""

    url: str
    http: httpx2.AsyncClient = field(default_factory=lambda: httpx2.AsyncClient(timeout=60))

    async def __aenter__(self) -> "Caller":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientCapabilities": {},
            META + "clientInfo": {"name": "c", "version": "1"},
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {TOKEN}",
            "mcp-protocol-version": MODERN,
            "mcp-method": method,
        }
        if "name" in params:
            headers["mcp-name"] = params["name"]
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return {"json": frame, "headers": headers}

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; raises where there is none, or it is an error."""
        asked = self.request("tools/call", {"name": name, "arguments": arguments})
        answer = await self.http.post(self.url, **asked)
        answer.raise_for_status()
        data = [line for line in answer.text.splitlines() if line.startswith("data: {")]
        result = json.loads(data[-1][6:] if data else answer.text)["result"]
        if result.get("isError"):
            raise CallRefused(result["_meta"]["mcp-host/error"])
        made: dict[str, Any] = result
        return made

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[AsyncIterator[str]]:
        """The methods of what the server tells of a resource, from the acknowledgement on."""
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        asked = self.request("subscriptions/listen", wanted)

        async def methods(answer: httpx2.Response) -> AsyncIterator[str]:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line[6:]).get("method", "")

        async with self.http.stream("POST", self.url, **asked) as answer:
            told = methods(answer)
            assert await anext(told) == "notifications/subscriptions/acknowledged"
            yield told

    async def ready(self) -> None:
        """Wait until the server, or the balancer and a host behind it, is ready."""
        address = self.url.removesuffix("/mcp") + "/readyz"
        async with asyncio.timeout(60):
            while True:
                try:
                    if (await self.http.get(address)).status_code == 200:
                        return
                except httpx2.TransportError:
                    await asyncio.sleep(0.05)


class Writer:
    """Adds tasks at these URLs in turn: with a key until it is confirmed, and without, once.

    `kept` are the titles that were confirmed, `refused` those whose answer says that nothing was
    done, and `unknown` those that nobody can tell of.
    """

    def __init__(self, urls: Sequence[str], name: str) -> None:
        self.kept: list[str] = []
        self.refused: list[str] = []
        self.unknown: list[str] = []
        self.is_ending = False
        self._urls = urls
        self._name = name
        self._came = asyncio.Event()

    async def more(self, count: int) -> None:
        """Wait until so many more are confirmed."""
        wanted = len(self.kept) + count
        while len(self.kept) < wanted:
            self._came.clear()
            await self._came.wait()

    async def write(self) -> None:
        urls = itertools.cycle(self._urls)
        async with httpx2.AsyncClient(timeout=60) as http:
            for number in itertools.count():
                if self.is_ending:
                    return
                await self._with_key(f"{self._name} keyed {number}", urls, http)
                await self._without(f"{self._name} plain {number}", next(urls), http)
                self._came.set()

    async def _with_key(self, title: str, urls: Iterator[str], http: httpx2.AsyncClient) -> None:
        for url in urls:
            try:
                await Caller(url, http).call("todo_db_add_task", title=title, request_key=title)
            except httpx2.HTTPError:
                await asyncio.sleep(0.05)
            except CallRefused as error:
                assert error.envelope["retryable"], error.envelope
                await asyncio.sleep(error.envelope["details"].get("retry_after", 0.05))
            else:
                self.kept.append(title)
                return

    async def _without(self, title: str, url: str, http: httpx2.AsyncClient) -> None:
        try:
            await Caller(url, http).call("todo_db_add_task", title=title)
            self.kept.append(title)
        except (httpx2.ConnectError, httpx2.HTTPStatusError):
            self.refused.append(title)
        except httpx2.HTTPError:
            self.unknown.append(title)
        except CallRefused as error:
            is_known = error.envelope["retryable"]
            (self.refused if is_known else self.unknown).append(title)


def answers_are_true(writers: Sequence[Writer], rows: Counter[str]) -> None:
    """Each title stands as often in the table as its answer says."""
    for writer in writers:
        assert {rows[title] for title in writer.kept} == {1}
        assert {rows[title] for title in writer.refused} <= {0}
        assert {rows[title] for title in writer.unknown} <= {0, 1}
