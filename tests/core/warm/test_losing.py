"""A lost host: sessions go on in the next one, and what was under way is told truthfully."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_home
from mcp_host.testing import CallFailed, StdioClient
from warm_home import WarmHome, eventually

warm = warm_home.warm
ERAS = ["2025-11-25", "2026-07-28"]
ONE_ERA = ["2025-11-25", pytest.param("2026-07-28", marks=pytest.mark.torture)]
"""The short round has one era of each."""


def kill(warm: WarmHome) -> None:
    (host,) = warm.hosts()
    os.kill(host["process"], signal.SIGKILL)


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_the_next_call_of_an_idle_session_is_answered(warm: WarmHome, protocol: str) -> None:
    await warm.learn()

    async with warm.stdio(protocol=protocol) as one, warm.stdio(protocol=protocol) as two:
        before = await one.value("probe_process")
        kill(warm)
        processes = {await client.value("probe_process") for client in (one, two)}

    assert len(processes) == 1
    assert before not in processes


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_a_call_that_changes_something_is_answered_as_unknown(
    warm: WarmHome, protocol: str
) -> None:
    await warm.learn()
    mark = warm.home.project / "mark"

    async with warm.stdio(protocol=protocol) as client:
        call = asyncio.create_task(client.value("probe_wait", path=str(mark)))
        await asyncio.to_thread(eventually, mark.exists)
        kill(warm)
        with pytest.raises(CallFailed) as failed:
            await call
        assert await client.value("probe_count") == 1

    told = failed.value.envelope
    assert (told["code"], told["retryable"]) == ("unavailable", False)
    assert told["details"] == {"reason": "host_lost", "outcome": "unknown"}


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_packs_know_a_client_by_the_same_connection_whoever_serves_it(
    warm: WarmHome, protocol: str
) -> None:
    await warm.learn()

    async with warm.stdio(protocol=protocol) as client:
        before = await client.value("probe_say")
        seen = {await client.value("probe_process")}
        while (hosts := warm.hosts()) and len(seen) < 10:
            os.kill(hosts[0]["process"], signal.SIGKILL)
            assert await client.value("probe_say") == before
            seen.add(await client.value("probe_process"))
        async with warm.stdio(protocol=protocol) as other:
            assert await other.value("probe_say") != before

    assert len(seen) == 5, "four hosts that were lost, and the process that then serves alone"


OTHER = """
import os
from mcp_host import Needs, hookimpl, tool


@tool
def leave() -> str:
    '''End the process.'''
    os._exit(7)


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=())


@hookimpl
def mcp_host_tools():
    return [leave]
"""
"""A pack that ends the host."""


def add_other(warm: WarmHome) -> None:
    warm.home.add_pack("other", OTHER)
    warm.home.write(warm_home.SETTINGS + "[packs.other]\nenabled = true\n")


def has_begun(mark: Path, count: int) -> Callable[[], bool]:
    return lambda: mark.exists() and mark.read_text().count("begun") == count


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_a_call_that_changes_nothing_is_made_once_more(warm: WarmHome, protocol: str) -> None:
    add_other(warm)
    await warm.learn()
    mark = warm.home.project / "mark"

    async with warm.stdio(protocol=protocol) as client, warm.stdio() as another:
        call = asyncio.create_task(client.value("probe_look", path=str(mark)))
        await asyncio.to_thread(eventually, has_begun(mark, 1))
        with pytest.raises(CallFailed):
            await another.value("other_leave")
        await asyncio.to_thread(eventually, has_begun(mark, 2))
        Path(f"{mark}.go").touch()
        assert await call == "looked"


@pytest.mark.torture
async def test_what_was_made_once_more_is_not_made_a_third_time(warm: WarmHome) -> None:
    add_other(warm)
    await warm.learn()
    mark = warm.home.project / "mark"

    async with warm.stdio() as client, warm.stdio() as another:
        call = asyncio.create_task(client.value("probe_look", path=str(mark)))
        await asyncio.to_thread(eventually, has_begun(mark, 1))
        with pytest.raises(CallFailed):
            await another.value("other_leave")
        await asyncio.to_thread(eventually, has_begun(mark, 2))
        kill(warm)
        with pytest.raises(CallFailed) as failed:
            await call

    assert failed.value.envelope["details"]["outcome"] == "unknown"


async def test_a_call_that_was_running_when_its_host_was_killed_is_not_made_again(
    warm: WarmHome,
) -> None:
    await warm.learn()
    mark = warm.home.project / "mark"

    async with warm.stdio() as client:
        first = await client.value("probe_process")
        call = asyncio.create_task(client.value("probe_look", path=str(mark)))
        await asyncio.to_thread(eventually, has_begun(mark, 1))
        kill(warm)
        with pytest.raises(CallFailed) as failed:
            await call
        own = await client.value("probe_process")
        (host,) = warm.hosts()

    assert failed.value.envelope["details"] == {"reason": "host_lost", "outcome": "unknown"}
    assert has_begun(mark, 1)()
    assert own not in (first, host["process"])


@pytest.mark.torture
async def test_an_answer_that_was_half_written_is_completed(warm: WarmHome) -> None:
    await warm.learn()
    length = 3_000_000
    command = warm.home.argv("serve", "--config", "mcp-host.toml", "--warm")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=warm.home.project,
        env=warm.home.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=4096,
    )
    client = StdioClient.__new__(StdioClient)
    client.protocol, client.person = "2026-07-28", None
    call = client.frame(1, "tools/call", {"name": "probe_large", "arguments": {"length": length}})
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(call).encode() + b"\n")
    begin = await process.stdout.readexactly(10_000)
    kill(warm)
    process.stdin.close()
    data = begin + await process.stdout.read()

    assert await process.wait() == 0
    assert data.count(b"\n") == 1 and data.endswith(b"}\n")
    assert b"x" * length in data


@pytest.mark.torture
async def test_a_log_level_and_a_subscription_outlive_the_host(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as client:
        await client.request("logging/setLevel", {"level": "error"})
        await client.request("resources/subscribe", {"uri": "host://packs"})
        kill(warm)
        await client.value("probe_count")
        await client.call("probe_say")
        await client.request("ping")

    assert not [n for n in client.notifications if n["method"] == "notifications/message"]
    assert client.other_frames == []


async def test_a_pack_that_ends_the_host_is_heard_once_and_then_has_a_process(
    warm: WarmHome,
) -> None:
    await warm.learn()

    async with warm.stdio() as one, warm.stdio() as two:
        await two.value("probe_count")
        with pytest.raises(CallFailed) as failed:
            await one.value("probe_leave")
        host_counts = [await client.value("probe_count") for client in (one, two)]
        first = warm.hosts()[0]["process"]
        own = await two.value("probe_process")
        with pytest.raises(CallFailed):
            await two.value("probe_leave")
        assert warm.hosts()[0]["process"] == first

    assert failed.value.envelope["details"]["reason"] == "host_lost"
    assert host_counts == [1, 2]
    assert own != first


@pytest.mark.torture
async def test_a_signal_obeys_while_the_host_is_silent(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as client:
        host = await client.value("probe_process")
        os.kill(host, signal.SIGSTOP)
        try:
            for _ in range(2):
                client.process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0)
            code = await asyncio.wait_for(_ended(client), 30)
        finally:
            os.kill(host, signal.SIGCONT)

    assert code == 0


async def _ended(client: StdioClient) -> int:
    while client.process.returncode is None:
        client.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.05)
    return client.process.returncode


@pytest.mark.torture
@pytest.mark.parametrize("how", ["stopped", "held"])
async def test_a_host_that_does_not_move_is_ended_and_its_sessions_go_on(
    warm: WarmHome, how: str
) -> None:
    await warm.learn()

    async with warm.stdio() as one, warm.stdio() as two:
        host = await one.value("probe_process")
        call: asyncio.Task[Any] | None = None
        if how == "stopped":
            os.kill(host, signal.SIGSTOP)
        else:
            mark = warm.home.project / "mark"
            call = asyncio.create_task(one.value("probe_hold", seconds=60, path=str(mark)))
            await asyncio.to_thread(eventually, mark.exists)
        assert await two.value("probe_process") != host
        if call is not None:
            with pytest.raises(CallFailed) as failed:
                await call
            assert failed.value.envelope["details"]["outcome"] == "unknown"


@pytest.mark.torture
async def test_a_client_that_takes_nothing_holds_up_nobody_when_its_session_ends(
    warm: WarmHome,
) -> None:
    warm.home.write("[host]\ngrace = 0.2\n" + warm_home.SETTINGS)
    await warm.learn()
    process = await asyncio.create_subprocess_exec(
        *warm.home.argv("serve", "--config", "mcp-host.toml", "--warm"),
        cwd=warm.home.project,
        env=warm.home.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=4096,
    )
    client = StdioClient.__new__(StdioClient)
    client.protocol, client.person = "2026-07-28", None
    call = client.frame(
        1, "tools/call", {"name": "probe_large", "arguments": {"length": 3_000_000}}
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(call).encode() + b"\n")
    begin = await process.stdout.readexactly(1000)

    async with warm.stdio() as other:
        process.send_signal(signal.SIGTERM)
        # Not `process.wait()`, which waits for the end of the pipes as well.
        await asyncio.to_thread(eventually, lambda: process.returncode is not None)
        assert process.returncode == 0
        async with warm.stdio() as another:
            for turn in range(1, 20):
                assert await other.value("probe_large", length=5000, fill="y") == "y" * 5000
                assert await another.value("probe_count") == turn
        rest = await process.stdout.read()
    process.stdin.close()
    await process.wait()

    assert b"yy" not in begin + rest
    assert (begin + rest).endswith(b"}\n")


LATE = """
import time
from pathlib import Path
from mcp_host import Needs, hookimpl, tool

mark = Path({mark!r})
if mark.exists():
    mark.with_suffix(".begun").touch()
    while mark.exists():
        time.sleep(0.01)


@tool
def old() -> str:
    '''Tell which code this is.'''
    return "old"


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=())


@hookimpl
def mcp_host_tools():
    return [old]
"""
"""A pack whose import waits while a file is there."""


@pytest.mark.parametrize("trouble", ["killed", "edited"])
async def test_a_host_that_is_lost_while_it_opens_is_followed_by_another(
    warm: WarmHome, trouble: str
) -> None:
    mark = warm.home.project / "mark"
    warm.home.add_pack("late", LATE.format(mark=str(mark)))
    warm.home.write(warm_home.SETTINGS + "[packs.late]\nenabled = true\n")
    await warm.learn()
    mark.touch()

    async with warm.stdio() as client:
        assert "late_old" in {tool["name"] for tool in await client.tools()}
        call = asyncio.create_task(client.value("probe_process"))
        await asyncio.to_thread(eventually, mark.with_suffix(".begun").exists)
        (first,) = warm.hosts()
        if trouble == "killed":
            kill(warm)
        else:
            file = next(warm.home.folder.glob("packs/*/late_pack_plugin.py"))
            file.write_text(file.read_text().replace("old", "new"))
        mark.unlink()
        served_by = await call
        await asyncio.to_thread(eventually, lambda: len(warm.hosts()) == 1)
        (host,) = warm.hosts()
        if trouble == "edited":
            assert await client.value("late_new") == "new"
            assert await client.notified("notifications/tools/list_changed")

    assert served_by == host["process"] != first["process"]
    assert warm.alone() == ""
