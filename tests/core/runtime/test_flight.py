"""The flight record: who ended the host's process is known to the next one, and lives apart."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from disks import fill, small_disk
from mcp_host.packs.flight import SLOTS, Flight, Work, ends

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

SETTINGS = "[packs.dying]\n[packs.sample]\n"


def doctor(machine: "Machine", name: str) -> dict[str, Any]:
    """What `doctor` says of one pack."""
    done = subprocess.run(
        machine.command("doctor", "--json"),
        env=machine.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return next(pack for pack in json.loads(done.stdout)["packs"] if pack["name"] == name)


def records(machine: "Machine") -> list[str]:
    """The files of processes that live or did not end well."""
    return [path.name for path in machine.folder.glob("cache/mcp-host/flights/*.flight")]


async def ended_by(machine: "Machine", tool: str, **arguments: Any) -> int:
    """Serve the packs in threads, and have one call end the process; its exit code."""
    async with machine.serve(SETTINGS) as client:
        with pytest.raises(Exception):  # noqa: B017 - whatever the client makes of the end
            await client.value(f"dying_{tool}", **arguments)
        return await client.process.wait()


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "how"),
    [
        ("segfaults", {}, -signal.SIGSEGV, "signal 11 (SIGSEGV) while running segfaults"),
        ("exits", {"code": 7}, 7, "os._exit(7) while running exits"),
    ],
)
async def test_a_pack_that_ended_the_process_lives_in_one_of_its_own_until_the_settings_change(
    machine: "Machine", tool: str, arguments: dict[str, Any], code: int, how: str
) -> None:
    assert await ended_by(machine, tool, **arguments) == code

    async with machine.serve(SETTINGS) as client:
        assert await client.value("dying_who") != client.process.pid
        (read,) = await client.read("host://packs")
        dying, sample = json.loads(read["text"])
        assert (dying["last_end"]["how"], dying["last_end"]["tool"]) == (how, tool)
        assert dying["last_end"]["request_id"]
        assert "last_end" not in sample
        await client.end_input()
    assert doctor(machine, "dying")["last_end"]["how"] == how

    async with machine.serve(SETTINGS + "# other settings\n") as client:
        assert await client.value("dying_who") == client.process.pid
        await client.end_input()
    assert records(machine) == []


async def test_a_crash_while_importing_is_told_by_the_next_start(machine: "Machine") -> None:
    machine.settings("[packs.crashes_on_import]\n")
    command, environment = machine.command("packs", "--json"), machine.environment()
    crashed = subprocess.run(command, env=environment, capture_output=True, timeout=60)

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    assert crashed.returncode == -signal.SIGSEGV
    assert done.returncode == 0
    (pack,) = (p for p in json.loads(done.stdout)["packs"] if p["name"] == "crashes_on_import")
    assert pack["code"] == "crashed"
    how = "signal 11 (SIGSEGV) while importing misbehaving.crashes_on_import"
    assert doctor(machine, "crashes_on_import")["last_end"]["how"] == how


async def test_a_host_that_is_killed_while_no_pack_is_at_work_blames_none(
    machine: "Machine",
) -> None:
    async with machine.serve(SETTINGS) as client:
        await client.value("dying_who")
        await client.signal(signal.SIGKILL)
    assert len(records(machine)) == 1

    assert "last_end" not in doctor(machine, "dying")
    assert records(machine) == []


async def test_a_host_serves_where_the_disk_of_its_record_is_full(machine: "Machine") -> None:
    cache = machine.folder / "cache"
    cache.mkdir()
    with small_disk(cache, 1) as disk:
        (disk / "mcp-host").mkdir()
        fill(disk)

        async with machine.serve(SETTINGS) as client:
            assert await client.value("dying_who") == client.process.pid

        assert records(machine) == []


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "mcp-host" / "flights"


def in_a_fork(work: Any) -> None:
    """Do something in a copy of this process, which ends without a word."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_what_was_at_work_is_read_once_and_only_by_the_same_server(cache: Path) -> None:
    def work() -> None:
        flight = Flight("mine")
        flight.begin()
        flight.stop(flight.start("gone", "importing gone"))
        flight.start("weather", "running", "forecast", "an-id")

    in_a_fork(work)

    assert ends("other") == []
    (end,) = ends("mine")
    assert end.how == "ended without a word, as by SIGKILL"
    assert end.works == (Work("weather", "running", "forecast", "an-id"),)
    assert ends("mine") == []
    assert list(cache.iterdir()) == []


def test_more_work_than_the_record_holds_and_long_names_hurt_nobody(cache: Path) -> None:
    def work() -> None:
        flight = Flight("mine")
        flight.begin()
        slots = [flight.start("pack", "running", "é" * 500) for _ in range(SLOTS + 5)]
        for slot in slots[1:]:
            flight.stop(slot)

    in_a_fork(work)

    (end,) = ends("mine")
    assert [(each.pack, each.phase) for each in end.works] == [("pack", "running")]


def test_a_process_that_ends_well_leaves_nothing_and_one_that_lives_is_left_alone(
    cache: Path,
) -> None:
    flight = Flight("mine")
    flight.begin()
    try:
        flight.start("weather", "opening")
        assert ends("mine") == []
        assert len(list(cache.glob("*.flight"))) == 1
    finally:
        flight.end()
    assert list(cache.iterdir()) == []


def test_those_who_begin_it_at_once_share_one_record(cache: Path) -> None:
    together, owners = 8, [f"mine{number}" for number in range(50)]

    def work() -> None:
        for owner in owners:
            flight, all_are_there = Flight(owner), Barrier(together)

            def begin(number: int, flight: Flight, all_are_there: Barrier) -> None:
                all_are_there.wait()
                flight.begin()
                flight.start(f"pack{number}", "opening")

            with ThreadPoolExecutor(together) as threads:
                rest = [flight] * together, [all_are_there] * together
                assert len(list(threads.map(begin, range(together), *rest))) == together

    in_a_fork(work)

    packs = {f"pack{number}" for number in range(together)}
    assert [{each.pack for each in end.works} for owner in owners for end in ends(owner)] == [
        packs
    ] * len(owners)
