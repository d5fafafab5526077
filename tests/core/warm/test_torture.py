"""Many sessions come and go while fronts, hosts and clients are killed and settings change."""

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import warm_home
from mcp_host.testing import CallFailed, ServerExited, clients
from warm_home import WarmHome, eventually

warm = warm_home.warm
ROUNDS = 40
SECONDS = float(os.environ.get("WARM_SECONDS", "600"))
"""How long sessions come and go in the long run."""
AT_ONCE, SESSIONS = 10, 50
EVERY = 2.0
"""Seconds between two troubles."""
GROWTH = 8 * 2**20
"""Bytes that a host may have taken more after a hundred sessions than after the first ones."""
CLIENT = """
import subprocess, sys, time
front = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
front.stdin.write(sys.argv[1].encode() + b"\\n")
front.stdin.flush()
time.sleep(600)
"""
"""A client that is killed while its call runs."""
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
            except TimeoutError:
                about = await asyncio.to_thread(warm.hosts)
                raise AssertionError(client.stderr[-3000:], warm.alone(), about) from None
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
            await asyncio.wait_for(until.wait(), EVERY)
        if until.is_set():
            return
        what = number % 5
        if what == 4:
            await _killed_client(warm)
        elif what == 0:
            for host in await asyncio.to_thread(warm.hosts):
                with suppress(ProcessLookupError):
                    os.kill(host["process"], signal.SIGKILL)
        elif what == 1:
            edited.write_text(edited.read_text() + f"\nEDITED_{number} = True\n")
            await warm.learn()
        elif what == 2:
            settings = f"[host]\npage_size = {900 + number % 90}\n" + warm_home.SETTINGS
            whole_at_once(warm.home.project / "mcp-host.toml", settings)
            await warm.learn()
        else:
            await asyncio.to_thread(warm.home.run, "warm", "restart")


def whole_at_once(file: Path, text: str) -> None:
    """Write a file as an installer does: nobody may read half of it."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)


async def _killed_client(warm: WarmHome) -> None:
    about = "io.modelcontextprotocol/"
    meta = {
        about + "protocolVersion": "2026-07-28",
        about + "clientInfo": {"name": "t", "version": "1"},
        about + "clientCapabilities": {},
    }
    waits = {"path": str(warm.home.project / "never")}
    params = {"name": "probe_wait", "arguments": waits, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    front = warm.home.argv("serve", "--config", "mcp-host.toml", "--warm")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, json.dumps(call), *front),
        cwd=warm.home.project,
        env=warm.home.environment(warm.more),
        stderr=asyncio.subprocess.DEVNULL,
    )
    await asyncio.sleep(2 * random.random())
    process.kill()
    await process.wait()


@pytest.mark.parametrize(
    ("sessions", "rounds", "seconds"),
    [(4, 6, 0.0), pytest.param(SESSIONS, ROUNDS, SECONDS, marks=pytest.mark.torture)],
    ids=["a few", "many"],
)
async def test_every_call_is_answered_truthfully_and_nobody_is_left(
    warm: WarmHome, monkeypatch: pytest.MonkeyPatch, sessions: int, rounds: int, seconds: float
) -> None:
    monkeypatch.setattr(clients, "WAIT", 180)  # hosts that are killed again and again start slowly
    await warm.learn()
    edited = next(warm.home.folder.glob("packs/*/probe_pack_plugin.py"))
    told, over = Told(), asyncio.Event()
    trouble = asyncio.create_task(_trouble(warm, over, edited))
    numbers, ends_at = itertools.count(), time.monotonic() + seconds

    async def one_after_the_other() -> None:
        while (number := next(numbers)) < sessions or time.monotonic() < ends_at:
            await _session(warm, number, told, rounds)

    await asyncio.gather(*(one_after_the_other() for _ in range(min(AT_ONCE, sessions))))
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
    print(f"{next(numbers)} sessions: {len(told.done)} calls done, {len(told.unknown)} unknown")
    await asyncio.to_thread(warm.hosts, "stop")
    await asyncio.to_thread(eventually, lambda: not _left(warm))


@pytest.mark.torture
async def test_a_host_is_as_small_after_a_hundred_sessions_as_after_ten(warm: WarmHome) -> None:
    await warm.learn()
    memory, numbers = list[int](), itertools.count()
    async with warm.stdio() as stays:
        process = await stays.value("probe_process")
        for count in (10, 100):
            for _ in range(count // 10):
                await asyncio.gather(*(_quiet(warm, next(numbers)) for _ in range(10)))
            await asyncio.to_thread(eventually, lambda: len(warm.hosts()[0]["sessions"]) == 1)
            memory.append(psutil.Process(process).memory_full_info().uss)
        assert await stays.value("probe_process") == process
    assert memory[1] - memory[0] < GROWTH


async def _quiet(warm: WarmHome, number: int) -> None:
    """A session that nobody troubles."""
    async with warm.stdio(protocol=("2025-11-25", "2026-07-28")[number % 2]) as client:
        for _ in range(10):
            await client.value("probe_count")


def _left(warm: WarmHome) -> list[Any]:
    """Processes that serve for this machine still: hosts, fronts and packs' children."""
    mine = json.dumps(str(warm.home.folder))[1:-1]
    found = []
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            if process.pid != os.getpid() and mine in process.environ().get("XDG_CACHE_HOME", ""):
                found.append(process)
    return found
