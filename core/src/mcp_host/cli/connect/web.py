"""A client of a host over HTTP, as far as a rehearsal needs one: no stream is held open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from ...startup.protocol import HANDSHAKE_VERSIONS
from ...testing.hosting import CallFailed

WAIT = 30.0


class WebClient:
    """One conversation with a host at an address, each request a connection of its own."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = dict(headers)
        self._next = 0

    async def handshake(self) -> None:
        """Begin a conversation."""
        await self.request(
            "initialize",
            {
                "protocolVersion": HANDSHAKE_VERSIONS[-1],
                "capabilities": {},
                "clientInfo": {"name": "mcp-host connect", "version": "0"},
            },
        )
        self._headers["mcp-protocol-version"] = HANDSHAKE_VERSIONS[-1]
        await asyncio.to_thread(self._post, {"method": "notifications/initialized"})

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result of a request; `CallFailed` where it is an error, `OSError` without answer."""
        self._next += 1
        frame = {"id": self._next, "method": method, "params": dict(params or {})}
        answer = await asyncio.to_thread(self._post, frame)
        if "error" in answer:
            raise CallFailed({"error": answer["error"].get("message"), **answer["error"]})
        return answer["result"]

    def _post(self, frame: Mapping[str, Any]) -> dict[str, Any]:
        parts = urlsplit(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=WAIT)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **self._headers,
        }
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            body = json.dumps({"jsonrpc": "2.0", **frame})
            connection.request("POST", target, body, headers)
            return self._answer(connection.getresponse(), frame.get("id"))
        except HTTPException as error:
            raise OSError(f"no answer that can be read: {error}") from None
        finally:
            connection.close()

    def _answer(self, response: HTTPResponse, asked: Any) -> dict[str, Any]:
        if session := response.getheader("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        if response.status in (401, 403):
            raise OSError(f"HTTP {response.status}: the host asks for a token, or refuses this one")
        if response.status >= 400:
            raise OSError(f"HTTP {response.status}")
        if asked is None:
            return {}
        if "text/event-stream" not in (response.getheader("content-type") or ""):
            whole: dict[str, Any] = json.loads(response.read())
            return whole
        for line in response:
            if line.startswith(b"data:") and line[5:].strip():
                message: dict[str, Any] = json.loads(line[5:])
                if message.get("id") == asked:
                    return message
        raise OSError("the answer ended before it was there")
