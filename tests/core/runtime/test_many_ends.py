"""Many starts, and ends of hosts and children at random moments: nothing stays, nothing is lost."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from mcp_host.testing import CallFailed, StdioClient

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

SETTINGS = """
[host]
retry_after = 0.05
[packs.dying]
isolation = "process"
[packs.sample]
isolation = "process"
"""
MEBIBYTE = 2**20


def marked(mark: str) -> set[int]:
    """Every process that lives and was started with this in its environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


async def none_left(mark: str) -> None:
    """Wait until no process with this mark lives."""
    async with asyncio.timeout(60):
        while marked(mark):  # noqa: ASYNC110 - nobody tells when a process has gone
            await asyncio.sleep(0.05)


async def answered(client: StdioClient, size: int) -> str:
    """Call the pack that lives, and one that dies; what came of it, in a word."""
    try:
        return "right" if await client.value("sample_big", size=size) == "x" * size else "wrong"
    except CallFailed as failed:
        return str(failed.envelope["code"])


def held(process: int) -> tuple[float, int]:
    """The resident memory of a process in MiB, and how many descriptors it has open."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE
    return resident, len(list(Path(f"/proc/{process}/fd").iterdir()))


ROUNDS = [3, pytest.param(200, marks=pytest.mark.torture)]


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_hosts_that_are_killed_at_any_moment_leave_no_process_behind(
    machine: "Machine", monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    mark, order = uuid4().hex, Random(rounds)
    monkeypatch.setenv("MARK_OF_A_TEST", mark)
    for number in range(rounds):
        async with machine.serve(SETTINGS) as client:
            call = asyncio.create_task(client.value("dying_breeds", children=3))
            await asyncio.wait([call], timeout=order.random())
            how = order.choice(["killed", "child killed", "input ends"])
            if how == "child killed":
                children = marked(mark) - {client.process.pid}
                with suppress(ProcessLookupError):
                    os.kill(order.choice(sorted(children) or [0]) or 2**30, signal.SIGKILL)
                assert await answered(client, number) in ("right", "unavailable")
            if how == "killed":
                await client.signal(signal.SIGKILL)
            else:
                assert await client.end_input() == 0
            call.cancel()
        await none_left(mark)


@pytest.mark.parametrize("rounds", [3, pytest.param(10, marks=pytest.mark.torture)])
async def test_every_call_is_answered_however_often_a_child_is_killed_and_memory_stays(
    machine: "Machine", rounds: int
) -> None:
    order = Random(rounds)
    async with machine.serve(SETTINGS) as client:

        async def a_round() -> list[str]:
            calls = [asyncio.create_task(answered(client, size)) for size in range(20)]
            dying = [asyncio.create_task(client.value("dying_who")) for _ in range(5)]
            (first, *_), _ = await asyncio.wait(dying, return_when=asyncio.FIRST_COMPLETED)
            if first.exception() is None:  # else it has just been killed
                await asyncio.wait(calls, timeout=order.random() / 50)
                with suppress(ProcessLookupError):
                    os.kill(first.result(), signal.SIGKILL)
            for outcome in await asyncio.gather(*dying, return_exceptions=True):
                assert isinstance(outcome, int | CallFailed)
                assert isinstance(outcome, int) or outcome.envelope["code"] == "unavailable"
            return await asyncio.gather(*calls)

        await client.request("logging/setLevel", {"level": "error"})  # which loads the SDK
        await a_round()
        before = held(client.process.pid)
        came = [await a_round() for _ in range(rounds)]
        after = held(client.process.pid)
        assert await client.end_input() == 0

    assert came == [["right"] * 20] * rounds
    assert after[0] - before[0] < 10
    assert after[1] <= before[1] + 8
