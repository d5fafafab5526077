"""A pack in a process of its own: whatever it does to that process, its neighbour is unhurt."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from mcp_host.testing import CallFailed, Hosted, hosted

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

PACKS = {"dying": "misbehaving.dying", "sample": "sample_pack.plugin"}


def tables(host: dict[str, Any] | None = None, **dying: Any) -> dict[str, Any]:
    """The pack that dies, in a process, and beside it another in threads."""
    quick = {"retry_after": 0.05, **(host or {})}
    return {"host": quick, "packs": {"dying": {"isolation": "process", **dying}}}


async def until(host: Hosted, state: str) -> None:
    """Wait for changes until the pack is in this state."""
    while host.host.packs["dying"].condition.state != state:
        await host.next_change("host://packs", timeout=60)


async def reason_of(host: Hosted, call: Callable[[], Any]) -> tuple[dict[str, Any], str, str]:
    """Make a call that ends the process: its envelope, and why the pack failed, with its code."""
    conditions = []
    stop = host.host.changes.listen(lambda _: conditions.append(host.host.packs["dying"].condition))
    envelope = await call()
    while not any(condition.state == "failed" for condition in conditions):
        await host.next_change("host://packs", timeout=60)
    stop()
    failed = next(condition for condition in conditions if condition.state == "failed")
    assert "tried again in 0.05 s" in failed.remedy
    return envelope, failed.code, failed.reason


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("exits", {"code": 7}, "crashed (exit code 7 in exits)"),
        ("exits", {"code": 0}, "crashed (exit code 0 in exits)"),
        ("segfaults", {}, "crashed (SIGSEGV in segfaults)"),
    ],
)
async def test_a_process_that_ends_is_told_of_and_started_again_and_its_neighbour_unhurt(
    tool: str, arguments: dict[str, Any], reason: str
) -> None:
    async with hosted(PACKS, tables()) as host, asyncio.timeout(60):
        before = await host.value("dying_who")

        envelope, code, told = await reason_of(
            host, lambda: host.error(f"dying_{tool}", **arguments)
        )

        assert await host.value("sample_big", size=3) == "xxx"
        assert (envelope["code"], envelope["retryable"]) == ("unavailable", False)
        assert envelope["details"]["outcome"] == "unknown"
        assert told == reason
        assert code == "crashed"
        await until(host, "ready")
        assert await host.value("dying_who") not in (before, os.getpid())


@pytest.mark.parametrize("after", [0, 0.2], ids=["at once", "while a thread waits at the socket"])
async def test_a_process_that_closes_its_descriptors_is_started_again(after: float) -> None:
    # In less time than a call may take: whoever waits at a closed socket keeps it open.
    async with hosted(PACKS, tables()) as host, asyncio.timeout(20):
        envelope, code, told = await reason_of(
            host, lambda: host.error("dying_closes", after=after)
        )

        assert envelope["details"]["outcome"] == "unknown"
        assert told.endswith(("in closes", "in closes)"))
        assert code in ("process_failed", "crashed")  # by whichever side notices first
        await until(host, "ready")
        assert await host.value("dying_who")


async def test_a_call_that_only_read_may_be_repeated_after_a_crash() -> None:
    async with hosted(PACKS, tables()) as host, asyncio.timeout(60):
        waiting = asyncio.create_task(host.error("dying_wait"))
        await asyncio.wait([waiting], timeout=0)

        await host.error("dying_exits", code=3)

        envelope = await waiting
        assert (envelope["code"], envelope["retryable"]) == ("unavailable", True)
        assert "outcome" not in envelope["details"]
        assert "exit code 3 in" in envelope["error"]


async def test_a_process_that_does_not_let_go_is_ended_and_started_again() -> None:
    async with hosted(PACKS, tables({"grace": 0.5})) as host, asyncio.timeout(60):
        envelope, code, told = await reason_of(host, lambda: host.error("dying_holds"))

        assert envelope["code"] == "timeout"
        assert code == "process_stuck"
        assert told == "ended: it did not let go within 0.5 s in holds"
        await until(host, "ready")
        assert await host.value("dying_who")


@pytest.mark.parametrize(
    ("limits", "tool", "arguments"),
    [
        ({"memory": "200MiB"}, "eats", {"megabytes": 400}),
        ({"processes": 4}, "breeds", {"children": 8}),
        ({"cpu": 0.3}, "burns", {}),
    ],
)
async def test_a_process_over_its_limit_is_ended_and_the_limit_named(
    limits: dict[str, Any], tool: str, arguments: dict[str, Any]
) -> None:
    async with hosted(PACKS, tables(**limits)) as host, asyncio.timeout(60):

        async def used() -> Any:
            try:  # the answer may come before the look
                return await host.value(f"dying_{tool}", **arguments)
            except CallFailed as failed:
                return failed.envelope

        _, code, told = await reason_of(host, used)

        (limit,) = limits
        assert code == "over_limit"
        assert told.startswith(f"ended: it used more than its {limit}")
        assert await host.value("sample_big", size=3) == "xxx"
        await until(host, "ready")
        assert await host.value("dying_who")


async def test_a_process_may_have_so_many_files_open_and_lives_on() -> None:
    async with hosted(PACKS, tables(open_files=64)) as host, asyncio.timeout(60):
        assert await host.value("dying_opens", files=20) == 20
        before = await host.value("dying_who")

        assert (await host.error("dying_opens", files=100))["code"] == "internal_error"

        assert await host.value("dying_who") == before


async def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    async with hosted(PACKS, tables()) as host, asyncio.timeout(60):
        await host.value("dying_leaves", path=str(tmp_path / "fifo"))
        with await asyncio.to_thread((tmp_path / "fifo").open) as reader:  # it is there
            await host.error("dying_exits", code=1)

            assert await asyncio.to_thread(reader.read) == ""  # nobody holds the other end


async def test_the_log_of_a_process_is_the_hosts(caplog: pytest.LogCaptureFixture) -> None:
    packs = {"broken": "misbehaving.raises_on_import"}
    async with hosted(packs, isolation="process") as host:
        condition = host.host.packs["broken"].condition

    assert condition.code == "import_failed"
    assert "RuntimeError: broken on purpose" in condition.reason
    (line,) = [r for r in caplog.records if r.getMessage() == "pack broken could not be imported"]
    assert line.levelname == "WARNING"
    assert 'raise RuntimeError("broken on purpose")' in vars(line)["traceback"]


async def test_importing_a_pack_never_happens_in_the_hosts_process() -> None:
    sys.modules.pop("misbehaving.dying", None)
    async with hosted(PACKS, tables()) as host:
        assert await host.value("dying_who") != os.getpid()

        assert "misbehaving.dying" not in sys.modules


@pytest.mark.parametrize("way", ["killed", "input ends"])
async def test_nothing_of_a_host_outlives_it(machine: "Machine", tmp_path: Path, way: str) -> None:
    for name in ("left", "kept"):
        os.mkfifo(tmp_path / name)
    settings = '[packs.dying]\nisolation = "process"\n[packs.sample]\n'
    async with machine.serve(settings) as client:
        await client.value("dying_leaves", path=str(tmp_path / "left"))
        await client.value("dying_keeps", path=str(tmp_path / "kept"))
        with (
            await asyncio.to_thread((tmp_path / "left").open) as left,  # it is there
            (tmp_path / "kept").open() as kept,
        ):
            if way == "killed":
                assert await client.signal(signal.SIGKILL) == -signal.SIGKILL
            else:
                assert await client.end_input() == 0

            assert await asyncio.to_thread(left.read) == ""  # nobody holds the other ends
            assert await asyncio.to_thread(kept.read) == ""


def test_doctor_names_packs_that_would_end_or_hang_its_process(machine: "Machine") -> None:
    faults = {
        "crashes_on_import": ("crashed", "crashed (SIGSEGV) while importing"),
        "holds_on_import": ("load_timeout", "importing misbehaving.holds_on_import took longer"),
        "opening_ends_all": ("crashed", "crashed (exit code 9)"),
    }
    packs = "".join(f"[packs.{name}]\n" for name in (*faults, "sample"))
    machine.settings(f"[host]\nstart_timeout = 2\n{packs}")

    done = subprocess.run(
        machine.command("doctor", "--json"),
        env=machine.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    told = {pack["name"]: pack for pack in json.loads(done.stdout)["packs"]}
    assert done.returncode == 1
    assert {name: told[name]["code"] for name in faults} == {n: c for n, (c, _) in faults.items()}
    assert [n for n, (_, words) in faults.items() if words not in told[n]["reason"]] == []
    assert told["sample"]["state"] == "ready"


def marked(mark: str) -> set[int]:
    """Every process that lives and was started with this in its environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


@pytest.mark.torture
async def test_kills_at_random_moments_leave_no_process_behind(
    machine: "Machine", monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, order = uuid4().hex, Random(1)
    monkeypatch.setenv("MARK_OF_A_TEST", mark)
    settings = '[packs.dying]\nisolation = "process"\n[packs.sample]\nisolation = "process"\n'
    for _ in range(60):
        async with machine.serve(settings) as client:
            call = asyncio.create_task(client.value("dying_breeds", children=3))
            await asyncio.wait([call], timeout=order.random())
            if order.random() < 0.5:
                child = await client.value("dying_who")
                os.kill(child, signal.SIGKILL)
                assert await client.value("sample_big", size=3) == "xxx"
            assert mark.encode() in Path(f"/proc/{client.process.pid}/environ").read_bytes()
            await client.signal(signal.SIGKILL)
            call.cancel()
        async with asyncio.timeout(30):
            while marked(mark):  # noqa: ASYNC110 - nobody tells when a process has gone
                await asyncio.sleep(0.05)
