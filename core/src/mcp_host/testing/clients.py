"""Clients that speak the protocol line by line, to a real server process, without the SDK."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..startup.protocol import HANDSHAKE_VERSIONS, META, MODERN_VERSION
from .hosting import CallFailed, returned
from .person import Person

LEGACY, MODERN = HANDSHAKE_VERSIONS[-1], MODERN_VERSION
WAIT = 30.0


class ServerExited(AssertionError):
    """The server ended while an answer was awaited."""


class StdioClient:
    """One client of one server process; made by `stdio_client`.

    Two tasks read what the server writes, as long as it runs: an answer ends the future in
    `_waiting` that has its id, a notification goes to `notifications`, a question to the person,
    and everything else to `other_frames`; standard error goes to `_stderr`. Whoever waits for one
    of these is woken by `_news`. Where the server ends, every future in `_waiting` fails with
    `ServerExited`.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, protocol: str, person: Person | None
    ) -> None:
        self.process = process
        self.protocol = protocol
        self.person = person
        self.notifications: list[dict[str, Any]] = []
        self.other_frames: list[dict[str, Any]] = []
        self.initialized: dict[str, Any] = {}
        self._waiting: dict[str | int, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Condition()
        self._next = 0
        self._stderr = bytearray()
        self._tasks = [
            asyncio.create_task(self._read_out()),
            asyncio.create_task(self._read_err()),
        ]

    @property
    def stderr(self) -> str:
        """What the server wrote to standard error so far."""
        return self._stderr.decode("utf-8", "replace")

    # -- the protocol

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
        future = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = future
        await self.send(self.frame(self._next, method, params))
        async with asyncio.timeout(WAIT):
            answer: dict[str, Any] = await future
            return answer

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
        """The contents of a resource."""
        result = await self.request("resources/read", {"uri": uri})
        contents: list[dict[str, Any]] = result["contents"]
        return contents

    async def notified(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until so many notifications of this kind have come, and return all of them."""
        async with asyncio.timeout(WAIT), self._news:
            await self._news.wait_for(lambda: len(self._of(method)) >= count)
            return self._of(method)

    async def arrived(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many answers came to what was not asked by `request`; all of them."""
        async with asyncio.timeout(WAIT), self._news:
            await self._news.wait_for(lambda: len(self.other_frames) >= count)
            return self.other_frames

    async def said(self, text: str) -> None:
        """Wait until the server wrote this to standard error."""
        async with asyncio.timeout(WAIT), self._news:
            await self._news.wait_for(lambda: text in self.stderr)

    async def send(self, frame: Any) -> None:
        """Send one frame."""
        await self.send_bytes(json.dumps(frame).encode() + b"\n")

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    # -- the process

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
            await asyncio.gather(*self._tasks, return_exceptions=True)
            return await self.process.wait()

    async def close(self) -> None:
        """End the process, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- inside

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

    async def _read_out(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            await self._take(json.loads(line))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ServerExited(f"the server ended; it said: {self.stderr}"))

    async def _read_err(self) -> None:
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(65536):
            async with self._news:
                self._stderr += chunk
                self._news.notify_all()

    async def _take(self, frame: dict[str, Any]) -> None:
        if "method" in frame and "id" in frame:
            if self.person is not None:
                answer = self.person.answer(frame)
                await self.send({"jsonrpc": "2.0", "id": frame["id"], "result": answer})
            return
        async with self._news:
            if "method" in frame:
                self.notifications.append(frame)
            elif frame.get("id") in self._waiting:
                future = self._waiting.pop(frame["id"])
                if not future.cancelled():  # whoever asked waits no more
                    future.set_result(frame)
            else:
                self.other_frames.append(frame)
            self._news.notify_all()


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


@dataclass
class HttpServer:
    """A server process that listens on loopback."""

    url: str
    process: asyncio.subprocess.Process
    _output: list[bytes]

    @property
    def stderr(self) -> str:
        """What the server wrote to standard error so far."""
        return b"".join(self._output).decode("utf-8", "replace")

    async def signal(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(WAIT):
            return await self.process.wait()


@asynccontextmanager
async def http_server(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[HttpServer]:
    """A server process; the command line must have it listen (`--transport http --port 0`)."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    output: list[bytes] = []
    assert process.stderr is not None
    reader: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(WAIT):
            url = await _listening(process.stderr, output)
        reader = asyncio.create_task(_collect(process.stderr, output))
        yield HttpServer(url, process, output)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if reader is not None:
            await reader


async def _listening(stderr: asyncio.StreamReader, output: list[bytes]) -> str:
    while line := await stderr.readline():
        output.append(line)
        _, found, url = line.decode().partition("listening on ")
        if found:
            return url.strip()
    raise ServerExited(f"the server ended; it said: {b''.join(output).decode()}")


async def _collect(stderr: asyncio.StreamReader, output: list[bytes]) -> None:
    while line := await stderr.readline():
        output.append(line)


def _table(data: Any) -> Mapping[str, Any]:
    """An error's data where it is an object; the SDK's own errors have texts there."""
    return data if isinstance(data, Mapping) else {}
