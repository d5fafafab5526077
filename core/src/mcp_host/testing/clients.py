"""Clients that speak the protocol line by line, to a real server process, without the SDK."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from ..startup.protocol import HANDSHAKE_VERSIONS, META, MODERN_VERSION
from .frames import WAIT, ServerFrames
from .hosting import CallFailed, returned
from .person import Person

LEGACY, MODERN = HANDSHAKE_VERSIONS[-1], MODERN_VERSION


class StdioClient:
    """One client of one server process; made by `stdio_client`."""

    def __init__(
        self, process: asyncio.subprocess.Process, protocol: str, person: Person | None
    ) -> None:
        self.process = process
        self.protocol = protocol
        self.person = person
        self.initialized: dict[str, Any] = {}
        self._frames = ServerFrames(process, self._answer)
        self._next = 0

    @property
    def notifications(self) -> list[dict[str, Any]]:
        """The notifications that came, in their order."""
        return self._frames.notifications

    @property
    def other_frames(self) -> list[dict[str, Any]]:
        """The frames that answer nothing which `request` asked."""
        return self._frames.others

    @property
    def stderr(self) -> str:
        """What the server wrote to standard error so far."""
        return self._frames.stderr

    async def handshake(self) -> None:
        """Begin a handshake-era conversation."""
        capabilities = self.person.capabilities if self.person else {}
        self.initialized = await self.request(
            "initialize",
            {
                "protocolVersion": self.protocol,
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "0"},
            },
        )
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result of a request; `CallFailed` with the error's data where it is an error."""
        answer = await self.raw_request(method, params)
        if "error" in answer:
            error = answer["error"]
            raise CallFailed({"error": error["message"], **error, **_table(error.get("data"))})
        return answer["result"]

    async def raw_request(
        self, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The whole answer to a request."""
        self._next += 1
        future = self._frames.answer(self._next)
        await self.send(self.frame(self._next, method, params))
        async with asyncio.timeout(WAIT):
            return await future

    def frame(
        self, request_id: str | int, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A request as it goes over the wire in this client's era."""
        given = dict(params or {})
        if self.protocol == MODERN:
            given["_meta"] = {
                META + "protocolVersion": MODERN,
                META + "clientCapabilities": self.person.capabilities if self.person else {},
                META + "clientInfo": {"name": "test", "version": "0"},
                **given.get("_meta", {}),
            }
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": given}

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; questions are answered by the person."""
        return await self._asking("tools/call", {"name": name, "arguments": arguments})

    async def value(self, name: str, /, **arguments: Any) -> Any:
        """What a tool returned: its structured content, else its text; `CallFailed` otherwise."""
        return returned(await self.call(name, **arguments))

    async def tools(self) -> list[dict[str, Any]]:
        """The whole of `tools/list`."""
        tools: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = await self.request("tools/list", cursor)
            tools += page["tools"]
            if "nextCursor" not in page:
                return tools
            cursor = {"cursor": page["nextCursor"]}

    async def read(self, uri: str) -> list[dict[str, Any]]:
        """The contents of a resource; questions are answered by the person."""
        result = await self._asking("resources/read", {"uri": uri})
        contents: list[dict[str, Any]] = result["contents"]
        return contents

    async def notified(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until so many notifications of this kind have come, and return all of them."""
        await self._frames.until(lambda: len(self._of(method)) >= count)
        return self._of(method)

    async def arrived(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many answers came to what was not asked by `request`; all of them."""
        await self._frames.until(lambda: len(self.other_frames) >= count)
        return self.other_frames

    async def said(self, text: str) -> None:
        """Wait until the server wrote this to standard error."""
        await self._frames.until(lambda: text in self.stderr)

    async def send(self, frame: Any) -> None:
        """Send one frame."""
        await self.send_bytes(json.dumps(frame).encode() + b"\n")

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def end_input(self) -> int:
        """Close the server's input and wait for its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.exited()

    async def signal(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        return await self.exited()

    async def exited(self) -> int:
        """Wait for the exit code."""
        async with asyncio.timeout(WAIT):
            await self._frames.ended()
            return await self.process.wait()

    async def close(self) -> None:
        """End the process, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._frames.stop()
        await self._frames.ended()

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [n for n in self.notifications if n["method"] == method]

    async def _asking(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = await self.request(method, params)
        while result.get("resultType") == "input_required" and self.person is not None:
            answers = {k: self.person.answer(q) for k, q in result["inputRequests"].items()}
            again = {
                **params,
                "inputResponses": answers,
                "requestState": result["requestState"],
            }
            result = await self.request(method, again)
        return result

    async def _answer(self, question: dict[str, Any]) -> None:
        if self.person is not None:
            answer = self.person.answer(question)
            await self.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})


@asynccontextmanager
async def stdio_client(
    argv: Sequence[str | os.PathLike[str]],
    *,
    protocol: str = LEGACY,
    person: Person | None = None,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    handshake: bool = True,
) -> AsyncIterator[StdioClient]:
    """A server process and its client; `protocol` "2026-07-28" speaks the stateless era.

    `environment` is added to the test's own. A session is served by its own process, as if the
    variable `MCP_HOST_WARM` were 0, unless either of them says otherwise.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env={"MCP_HOST_WARM": "0", **os.environ, **(environment or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    client = StdioClient(process, protocol, person)
    try:
        if handshake and protocol != MODERN:
            await client.handshake()
        yield client
    finally:
        await client.close()


def _table(data: Any) -> Mapping[str, Any]:
    """An error's data where it is an object; the SDK's own errors have texts there."""
    return data if isinstance(data, Mapping) else {}
