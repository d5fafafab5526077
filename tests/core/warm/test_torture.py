"""Many sessions come and go while fronts, hosts and clients are killed and settings change."""

import asyncio
import json
import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import warm_home
from mcp_host.testing import CallFailed
from mcp_host.testing.clients import ServerExited
from warm_home import WarmHome, eventually

warm = warm_home.warm
ROUNDS = int(os.environ.get("WARM_ROUNDS", "40"))
SESSIONS = 50
LOST = {"reason": "host_lost", "outcome": "unknown"}


class Told:
    """What the sessions were told, by how their calls ended."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.unknown: list[str] = []
        self.unavailable: list[str] = []


async def _session(warm: WarmHome, number: int, told: Told, rounds: int) -> None:
    """One client: notes lines in a file, and hears of each whether it was noted."""
    protocol = ("2025-11-25", "2026-07-28")[number % 2]
    file = warm.home.project / f"notes-{number}"
    async with warm.stdio(protocol=protocol) as client:
        connections = set()
        for turn in range(rounds):
            text = f"{number}-{turn}-{random.random()}"
            is_last = False
            try:
                if turn % 5 == 4:
                    connections.add(await client.value("probe_say"))
                noting = asyncio.create_task(client.value("probe_note", path=str(file), text=text))
                is_last = random.random() < 0.02
                if is_last:
                    await asyncio.sleep(0.002)  # it is on its way
                    client.process.kill()  # the front
                assert await noting == text
                told.done.append(text)
            except CallFailed as failed:
                details = failed.envelope.get("details") or {}
                if details.get("outcome") == "unknown":
                    told.unknown.append(text)
                else:
                    assert failed.envelope["code"] in ("unavailable", "busy"), failed.envelope
                    told.unavailable.append(text)
            except (ServerExited, ConnectionError):
                assert is_last, (client.process.returncode, client.stderr[-3000:], warm.alone())
                told.unknown.append(text)
            if is_last:
                return
        assert client.other_frames == []


async def _trouble(warm: WarmHome, until: asyncio.Event, edited: Path) -> None:
    """Kill hosts, edit the pack and change the settings, until told to stop."""
    for number in range(10_000):
        with suppress(TimeoutError):
            await asyncio.wait_for(until.wait(), 2)
        if until.is_set():
            return
        what = number % 4
        if what == 0:
            for host in await asyncio.to_thread(warm.hosts):
                with suppress(ProcessLookupError):
                    os.kill(host["process"], signal.SIGKILL)
        elif what == 1:
            edited.write_text(edited.read_text() + f"\nEDITED_{number} = True\n")
            await warm.learn()
        elif what == 2:
            warm.home.write(f"[host]\npage_size = {900 + number % 90}\n" + warm_home.SETTINGS)
            await warm.learn()
        else:
            await asyncio.to_thread(warm.home.run, "warm", "restart")


@pytest.mark.parametrize(
    ("sessions", "rounds"),
    [(4, 6), pytest.param(SESSIONS, ROUNDS, marks=pytest.mark.torture)],
    ids=["a few", "many"],
)
async def test_every_call_is_answered_truthfully_and_nobody_is_left(
    warm: WarmHome, sessions: int, rounds: int
) -> None:
    await warm.learn()
    edited = next(warm.home.folder.glob("packs/*/probe_pack_plugin.py"))
    told, over = Told(), asyncio.Event()
    trouble = asyncio.create_task(_trouble(warm, over, edited))
    waves = [range(begin, min(begin + 10, sessions)) for begin in range(0, sessions, 10)]
    for wave in waves:
        await asyncio.gather(*(_session(warm, number, told, rounds) for number in wave))
    over.set()
    await trouble

    noted: list[str] = []
    for file in warm.home.project.glob("notes-*"):
        lines = file.read_text().split()
        assert all(line.startswith(file.name.removeprefix("notes-") + "-") for line in lines)
        noted += lines
    assert len(noted) == len(set(noted))
    assert set(told.done) <= set(noted)
    assert not set(told.unavailable) & set(noted)
    assert set(noted) <= {*told.done, *told.unknown}
    await asyncio.to_thread(warm.hosts, "stop")
    await asyncio.to_thread(eventually, lambda: not _left(warm))


def _left(warm: WarmHome) -> list[Any]:
    """Processes that serve for this machine still: hosts, fronts and packs' children."""
    mine = json.dumps(str(warm.home.folder))[1:-1]
    found = []
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            if process.pid != os.getpid() and mine in process.environ().get("XDG_CACHE_HOME", ""):
                found.append(process)
    return found
