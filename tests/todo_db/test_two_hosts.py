"""Two hosts behind a balancer, as docs/samples/two-hosts has them, but for the containers.

Without HAProxy the tests are skipped; MCP_HOST_HAPROXY names one that is not on the PATH.
"""

import asyncio
import itertools
import os
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import asyncpg
import httpx2
import pytest
import yaml
from mcp_host.testing import HttpServer, http_server
from mcp_host_todo_db.storage import read_url
from mcp_host_todo_db.storage.migrating import migrate
from truthful import TOKEN, Caller, CallRefused, Writer, answers_are_true

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

SAMPLE = Path(__file__).parents[2] / "docs" / "samples" / "two-hosts"
HAPROXY = os.environ.get("MCP_HOST_HAPROXY") or shutil.which("haproxy")
needs_haproxy = pytest.mark.skipif(
    HAPROXY is None, reason="HAPROXY WAS NOT FOUND, the balancer is not tested: install haproxy"
)


@dataclass
class Place:
    """Where the hosts and the balancer are, and what stands in their environment."""

    folder: Path
    ports: dict[str, int]
    environment: dict[str, str]
    schema: str

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}/mcp"

    @property
    def balancer_log(self) -> Path:
        return self.folder / "haproxy.log"

    @asynccontextmanager
    async def host(self, name: str) -> AsyncIterator[HttpServer]:
        argv = [sys.executable, "-m", "mcp_host", "serve", "--config", "mcp-host.toml"]
        where = ["--transport", "http", "--host", "127.0.0.1", "--port", str(self.ports[name])]
        async with http_server(
            [*argv, *where], cwd=self.folder, environment=self.environment
        ) as server:
            yield server

    @asynccontextmanager
    async def balancer(self) -> AsyncIterator[None]:
        assert HAPROXY is not None
        with self.balancer_log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(HAPROXY, "-db", "-f", str(SAMPLE / "haproxy.cfg")),
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
            )
        try:
            yield
        finally:
            process.kill()
            await process.wait()


async def made_place(server: "Server", folder: Path) -> Place:
    """A place on an empty schema, which the newest version is in."""
    schema = await server.schema()
    url = server.url(schema)
    await migrate(read_url(url))
    with FreePorts() as free:
        ports = {name: free.port() for name in ("one", "two", "balancer")}
    settings = (SAMPLE / "mcp-host.toml").read_text()
    settings = settings.replace("drain = 5", "drain = 2")
    settings = settings.replace("[host]", "[host]\nstart_timeout = 60")  # of a busy machine
    (folder / "mcp-host.toml").write_text(f"{settings}\nconnect_timeout = 9\n")
    at = f"127.0.0.1:{ports['balancer']}"
    environment = {
        "HOME": str(folder),
        "TODO_DATABASE_URL": url,
        "MCP_TOKEN": TOKEN,
        "MCP_STATE_KEY": "a key for two hosts of at least 32 characters",
        "MCP_NAME": at,
        "MCP_BIND": at,
        "MCP_ONE": f"127.0.0.1:{ports['one']}",
        "MCP_TWO": f"127.0.0.1:{ports['two']}",
    }
    return Place(folder, ports, environment, schema)


@dataclass
class Hosts:
    """Two hosts that serve; one that has ended can be started again."""

    place: Place
    server: "Server"
    running: dict[str, HttpServer]
    stack: AsyncExitStack

    async def start(self, name: str) -> None:
        self.running[name] = await self.stack.enter_async_context(self.place.host(name))
        try:
            async with Caller(self.place.url(name)) as caller:
                await caller.ready()
        except TimeoutError:
            raise AssertionError(f"it is not ready: {self.running[name].stderr}") from None

    async def kill(self, name: str) -> None:
        self.running[name].process.kill()
        await self.running[name].process.wait()

    async def titles(self) -> Counter[str]:
        connection = await asyncpg.connect(self.server.admin_url)
        try:
            rows = await connection.fetch(f"SELECT title FROM {self.place.schema}.tasks")
        finally:
            await connection.close()
        return Counter(row["title"] for row in rows)


@pytest.fixture(scope="module")
async def hosts(server: "Server", tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosts]:
    place = await made_place(server, tmp_path_factory.mktemp("two-hosts"))
    async with AsyncExitStack() as stack:
        made = Hosts(place, server, {}, stack)
        await asyncio.gather(made.start("one"), made.start("two"))
        yield made


class FreePorts:
    """Free ports, each another one, which are all given back at once."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> "FreePorts":
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            one.close()

    def port(self) -> int:
        self._sockets.append(socket.create_server(("127.0.0.1", 0)))
        return int(self._sockets[-1].getsockname()[1])


class Load:
    """Callers who add tasks one after the other, each with a title of its own."""

    def __init__(self, url: str, callers: int, pause: float) -> None:
        self.confirmed: list[str] = []
        self.errors: list[str] = []
        self._numbers = itertools.count()
        self._url = url
        self._pause = pause
        self._came = asyncio.Event()
        self._tasks = [asyncio.create_task(self._add()) for _ in range(callers)]

    async def _add(self) -> None:
        async with Caller(self._url) as caller:
            while True:
                title = str(next(self._numbers))
                try:
                    await caller.call("todo_db_add_task", title=title)
                    self.confirmed.append(title)
                except (httpx2.HTTPError, CallRefused) as error:
                    self.errors.append(f"{title}: {error!r}")
                self._came.set()
                await asyncio.sleep(self._pause)

    async def more(self, count: int) -> None:
        """Wait until so many more tasks are confirmed."""
        wanted = len(self.confirmed) + count
        async with asyncio.timeout(120):
            while len(self.confirmed) < wanted:
                self._came.clear()
                await self._came.wait()

    async def end(self) -> None:
        """End after the calls that run: a title is confirmed, or an error, or was never sent."""
        numbers = self._numbers
        self._numbers = iter(())  # type: ignore[assignment]  # the next call ends its caller
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert next(numbers) == len(self.confirmed) + len(self.errors)


@needs_haproxy
@pytest.mark.parametrize(
    ("callers", "pause", "stops"),
    [(4, 0.05, 1), pytest.param(16, 0.0, 6, marks=pytest.mark.torture)],
)
async def test_a_rolling_stop_loses_doubles_and_fails_nothing(
    hosts: Hosts, callers: int, pause: float, stops: int
) -> None:
    names = itertools.cycle(("one", "two"))
    before = await hosts.titles()
    async with hosts.place.balancer():
        async with Caller(hosts.place.url("balancer")) as caller:
            await caller.ready()
        load = Load(hosts.place.url("balancer"), callers, pause)
        for name in itertools.islice(names, stops):
            await load.more(40)
            assert await hosts.running[name].signal(signal.SIGTERM) == 0
            await load.more(40)
            await hosts.start(name)
        await load.end()

    assert load.errors == [], hosts.place.balancer_log.read_text()
    assert await hosts.titles() - before == Counter(load.confirmed)


@needs_haproxy
async def test_hosts_that_the_balancer_has_not_seen_ready_are_asked_all_the_same(
    tmp_path: Path,
) -> None:
    """One stops, and goes on to answer; the other was just started, or refuses already."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(Unready(200).serving())
        two = await stack.enter_async_context(Unready(503).serving())
        with FreePorts() as free:
            port = free.port()
        environment = {
            "MCP_BIND": f"127.0.0.1:{port}",
            "MCP_NAME": "localhost",
            "MCP_ONE": f"127.0.0.1:{one.port}",
            "MCP_TWO": f"127.0.0.1:{two.port}",
        }
        place = Place(tmp_path, {"balancer": port}, environment, "")
        await stack.enter_async_context(place.balancer())
        async with asyncio.timeout(60):
            await asyncio.gather(one.seen.wait(), two.seen.wait())
        http = await stack.enter_async_context(httpx2.AsyncClient())
        answers = [await http.get(place.url("balancer")) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200] * 4, place.balancer_log.read_text()


class Unready:
    """A server that is not ready, and answers requests with a status all the same.

    `seen` is set once the balancer knows: it looks again after it was told.
    """

    def __init__(self, status: int) -> None:
        self.seen = asyncio.Event()
        self.port = 0
        self._status = status
        self._looks = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Unready"]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        status = self._status
        if b" /readyz " in head:
            status = 503
            self._looks += 1
            if self._looks == 2:
                self.seen.set()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        writer.close()


async def test_a_change_through_one_host_is_told_to_who_watches_at_the_other(
    hosts: Hosts,
) -> None:
    async with Caller(hosts.place.url("one")) as one, Caller(hosts.place.url("two")) as two:
        took = []
        async with two.watching("todo://ann/tasks") as told, asyncio.timeout(60):
            await _listening(one, told)
            for number in range(5):
                began = time.monotonic()
                await one.call("todo_db_add_task", title=f"told {number}")
                assert await anext(told) == "notifications/resources/updated"
                took.append(time.monotonic() - began)

    assert median(took) < 15, took  # a tenth of a second, and what the machine is busy with


@pytest.mark.parametrize(
    ("callers", "kills"), [(2, 1), pytest.param(12, 8, marks=pytest.mark.torture)]
)
async def test_hosts_that_are_flooded_killed_and_started_again_answer_the_truth(
    hosts: Hosts, callers: int, kills: int
) -> None:
    names = itertools.cycle(("one", "two"))
    urls = (hosts.place.url("one"), hosts.place.url("two"))
    writers = [Writer(urls, f"{callers}-{n}") for n in range(callers)]
    flood = asyncio.create_task(_flood(hosts.place, callers))
    async with asyncio.timeout(60 + 60 * kills), asyncio.TaskGroup() as writing:
        for writer in writers:
            writing.create_task(writer.write())
        for name in itertools.islice(names, kills):
            await asyncio.gather(*(writer.more(3) for writer in writers))
            await hosts.kill(name)
            await asyncio.gather(*(writer.more(3) for writer in writers))
            await hosts.start(name)
        for writer in writers:
            writer.is_ending = True
    flood.cancel()
    rows = await hosts.titles()

    answers_are_true(writers, rows)


async def _flood(place: Place, at_once: int) -> None:
    """List as often as the hosts let it, and heed nothing of what they answer."""

    async def lists(url: str) -> None:
        async with Caller(url) as caller:
            while True:
                try:
                    await caller.call("todo_db_list_tasks", limit=500)
                except (httpx2.HTTPError, CallRefused):
                    await asyncio.sleep(0.05)

    urls = itertools.cycle((place.url("one"), place.url("two")))
    async with asyncio.TaskGroup() as group:
        for url in itertools.islice(urls, at_once):
            group.create_task(lists(url))


async def _listening(one: Caller, told: AsyncIterator[str]) -> None:
    """Change something until it is heard: a host that is ready may not listen yet."""
    heard = asyncio.ensure_future(anext(told))
    while not heard.done():
        await one.call("todo_db_add_task", title="is anybody there?")
        await asyncio.wait({heard}, timeout=1)


def test_the_compose_file_gives_what_the_settings_and_the_balancer_read() -> None:
    services = yaml.safe_load((SAMPLE / "compose.yaml").read_text())["services"]
    settings = (SAMPLE / "mcp-host.toml").read_text()
    balancer = (SAMPLE / "haproxy.cfg").read_text()

    for name in ("one", "two", "migrated"):
        for variable in services[name]["environment"]:
            assert f'env = "{variable}"' in settings
    for variable in services["balancer"]["environment"]:
        assert f"${{{variable}}}" in balancer
    assert services["balancer"]["environment"]["MCP_ONE"] == "one:8000"
    assert services["one"]["command"] == services["two"]["command"]
    compile(services["one"]["healthcheck"]["test"][-1], "the health check", "exec")
