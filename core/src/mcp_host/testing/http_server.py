"""A real server process that is spoken to over HTTP, by whatever client a test has."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .frames import WAIT, ServerExited


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
