"""A database that is killed under load, and workers that are stopped: every answer is true.

Long rounds alone. Without PgBouncer its round is skipped; MCP_HOST_PGBOUNCER names one that is not
on the PATH.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import httpx2
import psutil
import pytest
from mcp_host.testing import HttpServer, http_server
from mcp_host_todo_db.storage import read_url
from mcp_host_todo_db.storage.migrating import migrate
from truthful import TOKEN, Caller, Writer, answers_are_true

if TYPE_CHECKING:
    from conftest import Server

pytestmark = [pytest.mark.anyio, pytest.mark.torture]

PGBOUNCER = os.environ.get("MCP_HOST_PGBOUNCER") or shutil.which("pgbouncer")
needs_pgbouncer = pytest.mark.skipif(
    PGBOUNCER is None, reason="PGBOUNCER WAS NOT FOUND, the real pooler is not tested: install it"
)
WRITERS, KILLS = 12, 10
SETTINGS = """
[host]
start_timeout = 60
[http]
drain = 1
[[http.tokens]]
token = { env = "MCP_TOKEN" }
subject = "ann"
scopes = ["*"]
[packs.todo_db.settings]
url = { env = "TODO_DATABASE_URL" }
"""
POOLER = """
[databases]
postgres = host=127.0.0.1 port={server} user=postgres connect_query='SET search_path TO {schema}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_login_retry = 1
ignore_startup_parameters = search_path, extra_float_digits, statement_timeout
"""


@pytest.mark.parametrize("way", ["direct", pytest.param("pooled", marks=needs_pgbouncer)])
async def test_a_database_that_is_killed_under_load_leaves_every_answer_true(
    own_server: "Server", tmp_path: Path, way: str
) -> None:
    schema = await own_server.schema()
    url = own_server.url(schema)
    await migrate(read_url(url))
    async with way_to(own_server, schema, way) as url, serving(tmp_path, url) as host:
        writers = [Writer([host.url], f"{way} {n}") for n in range(WRITERS)]
        async with asyncio.timeout(600), asyncio.TaskGroup() as writing:
            for writer in writers:
                writing.create_task(writer.write())
            for kill in range(KILLS):
                await asyncio.gather(*(writer.more(3) for writer in writers))
                if kill % 2:
                    own_server.kill()
                else:
                    own_server.stop("immediate")
                own_server.start()
            await asyncio.gather(*(writer.more(3) for writer in writers))
            for writer in writers:
                writer.is_ending = True
        rows = await titles(own_server, schema)

    answers_are_true(writers, rows)
    told = Counter[str]()
    for writer in writers:
        for what in ("kept", "refused", "unknown"):
            told[what] += len(getattr(writer, what))
    print(f"{way}: {dict(told)}, {rows.total()} rows after {KILLS} kills")
    assert rows.total() - told["kept"] <= told["unknown"]


async def test_a_worker_that_is_stopped_under_load_costs_the_others_nothing(
    own_server: "Server", tmp_path: Path
) -> None:
    schema = await own_server.schema()
    url = own_server.url(schema)
    await migrate(read_url(url))
    async with serving(tmp_path, url, "--workers", "2") as host:
        parent = psutil.Process(host.process.pid)
        before = {one.pid for one in parent.children()}
        writers = [Writer([host.url], f"worker {n}") for n in range(WRITERS)]
        async with asyncio.timeout(300), asyncio.TaskGroup() as writing:
            for writer in writers:
                writing.create_task(writer.write())
            for pid in sorted(before):  # one after the other, as a rolling restart does it
                await asyncio.gather(*(writer.more(10) for writer in writers))
                os.kill(pid, signal.SIGTERM)
                await another_worker(parent, pid)
            await asyncio.gather(*(writer.more(10) for writer in writers))
            for writer in writers:
                writer.is_ending = True
        rows = await titles(own_server, schema)

    answers_are_true(writers, rows)
    failed = sum(len(writer.refused) + len(writer.unknown) for writer in writers)
    print(f"workers: {rows.total()} rows, {failed} calls without a key that failed")
    assert sum(len(writer.unknown) for writer in writers) == 0


@pytest.mark.parametrize("whom", ["the parent", "the workers"])
async def test_calls_that_run_are_answered_before_a_worker_ends(
    own_server: "Server", tmp_path: Path, whom: str
) -> None:
    schema = await own_server.schema()
    url = own_server.url(schema)
    await migrate(read_url(url))
    async with serving(tmp_path, url, "--workers", "2") as host:
        callers = [Caller(host.url) for _ in range(8)]
        tasks = [
            (await caller.call("todo_db_add_task", title=str(n)))["structuredContent"]["task_id"]
            for n, caller in enumerate(callers)
        ]
        other = await asyncpg.connect(own_server.admin_url)
        begun = other.transaction()
        await begun.start()
        await other.execute(f"SELECT 1 FROM {schema}.tasks FOR UPDATE")
        calls = [
            asyncio.create_task(caller.call("todo_db_complete_task", task_id=task))
            for caller, task in zip(callers, tasks, strict=True)
        ]
        await statements_wait(own_server, len(calls))
        parent = psutil.Process(host.process.pid)
        for process in [parent] if whom == "the parent" else parent.children():
            process.send_signal(signal.SIGTERM)
        await ends_to_be_ready(host.url)
        await begun.rollback()
        await other.close()
        answers = await asyncio.gather(*calls)

    assert [answer["structuredContent"]["status"] for answer in answers] == ["completed"] * 8


async def another_worker(parent: psutil.Process, ended: int) -> None:
    """Wait until a worker has ended and another has been started."""
    async with asyncio.timeout(60):
        now = {ended}
        while ended in now or len(now) < 2:
            now = {one.pid for one in parent.children()}
            await asyncio.sleep(0.1)


async def statements_wait(server: "Server", count: int) -> None:
    """Wait until so many statements wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with asyncio.timeout(60):
        while await server.value(waiting) < count:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)


async def ends_to_be_ready(url: str) -> None:
    """Wait until a new connection is refused, or hears that the server ends."""
    async with asyncio.timeout(60):
        with suppress(httpx2.TransportError):
            while True:
                async with Caller(url) as caller:
                    answer = await caller.http.get(url.removesuffix("/mcp") + "/readyz")
                if answer.status_code == 503:
                    return


@asynccontextmanager
async def serving(folder: Path, url: str, *options: str) -> AsyncIterator[HttpServer]:
    (folder / "mcp-host.toml").write_text(SETTINGS)
    argv = [sys.executable, "-m", "mcp_host", "serve", "--config", "mcp-host.toml"]
    where = ["--transport", "http", "--host", "127.0.0.1", "--port", "0"]
    environment = {"HOME": str(folder), "TODO_DATABASE_URL": url, "MCP_TOKEN": TOKEN}
    async with http_server([*argv, *where, *options], cwd=folder, environment=environment) as host:
        async with Caller(host.url) as caller:
            await caller.ready()
        yield host


@asynccontextmanager
async def way_to(server: "Server", schema: str, way: str) -> AsyncIterator[str]:
    """The URL of a schema: the server's own, or one of a transaction pooler before it."""
    if way == "direct":
        yield server.url(schema)
        return
    assert PGBOUNCER is not None
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        Path(name).chmod(0o755)
        config, port = Path(name) / "pgbouncer.ini", free_port()
        config.write_text(POOLER.format(server=server.port, port=port, schema=schema))
        as_other: Sequence[str] = () if os.getuid() else ("-u", "nobody")
        process = await asyncio.create_subprocess_exec(
            *(PGBOUNCER, "-q", *as_other, config), stderr=asyncio.subprocess.DEVNULL
        )
        try:
            direct = server.url(schema, pgbouncer="true", sslmode="disable")
            yield direct.replace(f":{server.port}/", f":{port}/")
        finally:
            process.kill()
            await process.wait()


async def titles(server: "Server", schema: str) -> Counter[str]:
    connection = await asyncpg.connect(server.admin_url)
    try:
        rows = await connection.fetch(f"SELECT title FROM {schema}.tasks")
    finally:
        await connection.close()
    return Counter(row["title"] for row in rows)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
