"""What one caller's flood does to another: 300 lists of 500 tasks in flight, over HTTP.

Two hosts run side by side, each with Todo DB on an SQLite file of its own. One caller asks the
first for a page of 20, again and again, while another floods either the same host, or the second:
then the machine is as busy, and the first host is not. The flood heeds `retry_after`. The rounds
take turns, and what counts is how much longer the first caller waits, at the 95th percentile.
"""

import argparse
import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from mcp_host.testing import HttpServer, http_server
from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import open_store, read_url

from .table import show

MOST = 3.0
"""How many times as long the other caller may wait."""
IN_FLIGHT, ROWS, PAGE = 300, 500, 20
META = "io.modelcontextprotocol/"
SETTINGS = """
[http]
tokens = [
    {{ token = {{ env = "FLOOD" }}, subject = "flood", scopes = ["*"] }},
    {{ token = {{ env = "OTHER" }}, subject = "other", scopes = ["*"] }},
]
[packs.todo_db.settings]
url = "sqlite:///{file}"
"""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only fairness")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--flood", help="flood this endpoint until the end; the other process")
    given = parser.parse_known_args(argv)[0]
    if given.flood:
        asyncio.run(_flood(given.flood))
        return
    with TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder), given.rounds, given.calls))


async def _measure(folder: Path, rounds: int, calls: int) -> None:
    times: dict[str, list[float]] = {"alone": [], "flood elsewhere": [], "flood here": []}
    p95: dict[str, list[float]] = {name: [] for name in times}
    tokens = {"FLOOD": secrets.token_hex(), "OTHER": secrets.token_hex()}
    async with AsyncExitStack() as stack:
        here, elsewhere = [
            await stack.enter_async_context(_host(folder / name, tokens)) for name in ("a", "b")
        ]
        where = {"alone": None, "flood elsewhere": elsewhere.url, "flood here": here.url}
        caller = await stack.enter_async_context(_caller(here.url, tokens["OTHER"], PAGE))
        for _ in range(20):
            await caller.call()
        for number in range(rounds):
            for name in list(times)[number % 3 :] + list(times)[: number % 3]:
                async with _flooding(where[name], tokens["FLOOD"]):
                    taken = []
                    for _ in range(calls):
                        began = time.perf_counter()
                        await caller.call()
                        taken.append(time.perf_counter() - began)
                times[name] += taken
                p95[name].append(quantiles(taken, n=20)[-1])
    show(
        f"A page of {PAGE} over HTTP, ms ({rounds} rounds of {calls} calls)",
        ("", "p50", "p95 (median of the rounds)"),
        [
            (name, f"{1e3 * median(times[name]):.1f}", f"{1e3 * median(p95[name]):.1f}")
            for name in times
        ],
    )
    ratio = median(p95["flood here"]) / median(p95["flood elsewhere"])
    verdict = "met" if ratio <= MOST else "MISSED"
    print(f"p95 with the flood here × elsewhere: {ratio:.2f} (at most {MOST:g}: {verdict})")


@asynccontextmanager
async def _host(folder: Path, tokens: dict[str, str]) -> AsyncIterator[HttpServer]:
    await asyncio.to_thread(folder.mkdir)
    file = folder / "todo.db"
    async with open_store(read_url(f"sqlite:///{file}")) as store:
        service = TaskService(store)
        for user, count in (("flood", ROWS), ("other", 2 * PAGE)):
            for n in range(count):
                await service.add(user, TaskCreate(f"task {n}", "about it"))
    config = folder / "mcp-host.toml"
    config.write_text(SETTINGS.format(file=file))
    argv = [sys.executable, "-m", "mcp_host", "serve", "--config", config, "--port", "0"]
    more = {**tokens, "XDG_CACHE_HOME": str(folder / "cache")}
    async with http_server([*argv, "--transport", "http"], environment=more) as server:
        yield server


class _Caller:
    """One connection that asks for the same page again and again."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
    ) -> None:
        self._reader, self._writer, self._request = reader, writer, request

    async def call(self) -> float:
        """Ask once; the seconds to wait before the next, 0 where it was answered."""
        self._writer.write(self._request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if b'"isError":true' not in body and head.startswith(b"http/1.1 200"):
            return 0
        told = json.loads(body)
        if "error" in told:
            return float(told["error"]["data"]["details"]["retry_after"])
        error = json.loads(told["result"]["content"][0]["text"])
        return float(error["details"]["retry_after"])


@asynccontextmanager
async def _caller(url: str, token: str, limit: int) -> AsyncIterator[_Caller]:
    place = urlsplit(url)
    params = {
        "name": "todo_db_list_tasks",
        "arguments": {"limit": limit},
        "_meta": {
            META + "protocolVersion": "2026-07-28",
            META + "clientInfo": {"name": "c", "version": "1"},
            META + "clientCapabilities": {},
        },
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(frame).encode()
    head = (
        f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
        f"Mcp-Name: todo_db_list_tasks\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**22)
    try:
        yield _Caller(reader, writer, head.encode() + body)
    finally:
        writer.close()


async def _flood(url: str) -> None:
    async def ask() -> None:
        async with _caller(url, os.environ["FLOOD"], ROWS) as caller:
            for wait in iter(caller.call, None):
                await asyncio.sleep(await wait)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(ask())


@asynccontextmanager
async def _flooding(url: str | None, token: str) -> AsyncIterator[None]:
    """A flood, once it has risen, from a process of its own."""
    if url is None:
        yield
        return
    argv = [sys.executable, "-m", "benchmarks", "--only", "fairness", "--flood", url]
    process = await asyncio.create_subprocess_exec(*argv, env={**os.environ, "FLOOD": token})
    try:
        await asyncio.sleep(3)
        yield
    finally:
        process.kill()
        await process.wait()
