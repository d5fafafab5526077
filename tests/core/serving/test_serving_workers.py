"""Several processes at one socket: one end is no end, and a signal ends all."""

import asyncio
import os
import signal

import psutil
from core_home import Home
from core_web import Web

SETTINGS = "[packs.desk]\n"


async def test_workers_share_one_socket_and_one_that_is_killed_is_started_again(
    home: Home,
) -> None:
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", "--workers", "2") as server:
        parent = psutil.Process(server.process.pid)
        async with asyncio.timeout(60), Web(server.url) as web:
            assert await web.value("desk_greet", name="Ann") == "Hello Ann."
            before = {one.pid for one in parent.children()}
            killed = min(before)
            os.kill(killed, signal.SIGKILL)
            now = before
            while killed in now or len(now) < 2:
                await asyncio.sleep(0.1)
                now = {one.pid for one in parent.children()}
            for _ in range(20):  # a new connection each, to whichever process takes it
                async with Web(server.url) as another:
                    assert await another.value("desk_greet", name="Bo") == "Hello Bo."
            session = await web.session()
            assert session.id is None  # it keeps none

        assert len(before) == 2
        os.kill(server.process.pid, signal.SIGTERM)
        async with asyncio.timeout(60):
            assert await server.process.wait() == 0
        assert not any(psutil.pid_exists(pid) for pid in now)


async def test_workers_end_where_the_process_that_started_them_is_killed(home: Home) -> None:
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", "--workers", "1") as server:
        (worker,) = psutil.Process(server.process.pid).children()
        server.process.kill()

        gone, left = await asyncio.to_thread(psutil.wait_procs, [worker], timeout=60)
    assert (gone, left) == ([worker], [])


def test_workers_that_cannot_serve_end_with_the_reason(home: Home) -> None:
    home.write("[http]\nmetrics = true\n[packs.desk]\n")
    serve = ("serve", "--config", "mcp-host.toml", "--workers", "2", "--port", "0")

    over_stdio = home.run(*serve)
    with_metrics = home.run(*serve, "--transport", "http")

    assert over_stdio.code == 2
    assert "--workers needs --transport http" in over_stdio.err
    assert with_metrics.code == 1
    assert "[host] telemetry" in with_metrics.err
