"""Many thin clients at once over HTTP: one connection each, bytes out, bytes in."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

META = "io.modelcontextprotocol/"
LARGEST = 2**22


class Caller:
    """One connection to an endpoint that speaks 2026-07-28, on which tools are called."""

    def __init__(
        self,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        place: tuple[str, str],
        token: str | None,
    ) -> None:
        self._reader, self._writer = streams
        self._netloc, self._path = place
        self._token = token

    def request(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        """A call as it goes over the wire."""
        params = {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                META + "protocolVersion": "2026-07-28",
                META + "clientInfo": {"name": "bench", "version": "1"},
                META + "clientCapabilities": {},
            },
        }
        frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(frame).encode()
        token = f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: {self._netloc}\r\n{token}"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
            f"Mcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def answer(self, request: bytes) -> bytes:
        """Send a request and return the JSON of its answer, also from a stream of events."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: *(\d+)", head)
        if length is not None:
            return await self._reader.readexactly(int(length[1]))
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return re.findall(rb"^data: *(\{.*)$", body, re.M)[-1]

    async def call(self, request: bytes) -> float:
        """Ask once; the seconds to wait before the next, 0 where it was answered.

        Raises `TimeoutError` where the call waited for its turn to its deadline.
        """
        body = await self.answer(request)
        if b'"result"' in body and b'"isError":true' not in body:
            return 0
        told = json.loads(body)
        if "error" in told:
            return float(told["error"]["data"]["details"]["retry_after"])
        error = json.loads(told["result"]["content"][0]["text"])
        if error["code"] == "timeout":
            raise TimeoutError(error["error"])
        return float(error["details"]["retry_after"])


@asynccontextmanager
async def connected(url: str, token: str | None = None) -> AsyncIterator[Caller]:
    place = urlsplit(url)
    streams = await asyncio.open_connection(place.hostname, place.port, limit=LARGEST)
    try:
        yield Caller(streams, (place.netloc, place.path), token)
    finally:
        streams[1].close()
