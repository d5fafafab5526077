"""Calls at work: deadlines, places, calls left behind, and how a pack's condition follows."""

import asyncio
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from core_home import Hosting
from mcp_host.testing import CallFailed, Hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
FAR_BELOW_HALF_A_MINUTE = 10.0


def settings(host: dict[str, Any] | None = None, **sample: Any) -> dict[str, Any]:
    return {"host": host or {}, "packs": {"sample": sample}}


def service(host: Hosted) -> Any:
    return host.host.running["sample"].worker.service


async def until(host: Hosted, state: str) -> None:
    """Wait for changes until the sample pack is in this state."""
    while host.host.packs["sample"].condition.state != state:
        await host.next_change("host://packs")


async def answered(host: Hosted) -> None:
    """Wait until the sample pack answers: on a busy machine those taken back may still run."""
    while True:
        try:
            await host.value("sample_echo")
        except CallFailed as failed:
            assert failed.envelope["details"] == {"reason": "calls_abandoned"}
            await asyncio.sleep(0)  # one turn of the loop
        else:
            return


@pytest.mark.parametrize(
    ("tool", "retryable", "details"),
    [
        ("hang", False, {"outcome": "unknown"}),
        ("stubborn", False, {"outcome": "unknown"}),
        ("look_long", True, None),
    ],
)
async def test_a_tool_that_does_not_let_go_is_answered_at_its_deadline(
    tool: str, retryable: bool, details: Any, hosted: Hosting
) -> None:
    async with hosted(SAMPLE) as host, asyncio.timeout(FAR_BELOW_HALF_A_MINUTE):
        envelope = await host.error(f"sample_{tool}")

        assert (envelope["code"], envelope["retryable"]) == ("timeout", retryable)
        assert envelope["error"] == f"sample_{tool} took longer than 0.3 s"
        assert envelope.get("details") == details
        assert await host.value("sample_big", size=3) == "xxx"


@pytest.mark.parametrize(
    ("tables", "tool", "seconds"),
    [
        (settings({"timeout": 0.05}), "hold", "0.05"),
        (settings({"timeout": 0.05}), "hang", "0.3"),
        (settings({"timeout": 0.05}, timeout=0.1), "hang", "0.1"),
        (settings(timeout=0.1, tools={"hang": {"timeout": 0.07}}), "hang", "0.07"),
    ],
    ids=["the host's", "the tool's own", "the pack's", "the tool's setting"],
)
async def test_the_most_particular_timeout_counts(
    tables: dict[str, Any], tool: str, seconds: str, hosted: Hosting
) -> None:
    arguments = {"gate": "never"} if tool == "hold" else {}
    async with hosted(SAMPLE, tables) as host:
        envelope = await host.error(f"sample_{tool}", **arguments)

        assert envelope["error"] == f"sample_{tool} took longer than {seconds} s"


async def test_a_call_that_times_out_is_cancelled_in_its_pack_and_frees_its_place(
    hosted: Hosting,
) -> None:
    async with hosted(SAMPLE, settings({"max_concurrency": 1}, timeout=0.1)) as host:
        await host.error("sample_hold", gate="never")

        assert await host.value("sample_reached", gate="never cancelled: True")


async def test_a_pack_that_blocks_its_own_loop_holds_up_no_other(hosted: Hosting) -> None:
    tables = {"packs": {"tools": {"tools": {"blocks": {"timeout": 1.2}}}}}  # it blocks for 1.5 s
    async with hosted({**SAMPLE, "tools": "misbehaving.tools"}, tables) as host:
        blocked = asyncio.create_task(host.error("tools_blocks"))
        waiting = asyncio.create_task(host.value("tools_quick"))

        assert await host.value("sample_echo", text="a") != {}

        assert not blocked.done()
        assert (await blocked)["code"] == "timeout"
        assert await waiting == "quick"


async def test_256_calls_of_a_caller_wait_and_the_next_hears_busy_and_when_to_come_back(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE, settings(max_concurrency=2)) as host:
        calls = [asyncio.create_task(host.value("sample_hold", gate="g")) for _ in range(2 + 256)]
        await asyncio.wait(calls, timeout=0)

        envelope = await host.error("sample_hold", gate="g")

        assert (envelope["code"], envelope["retryable"]) == ("busy", True)
        assert envelope["details"]["reason"] == "too_many_calls"
        assert 1 <= envelope["details"]["retry_after"] <= 60
        service(host).let("g")
        assert await asyncio.gather(*calls) == ["g"] * (2 + 256)


async def test_a_call_taken_back_passes_its_place_on_whether_it_ran_or_waited(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE, settings(max_concurrency=1)) as host:
        running, waiting, last = (
            asyncio.create_task(host.value("sample_hold", gate=gate)) for gate in "abc"
        )
        await asyncio.wait([running], timeout=0)

        for call in (waiting, running):
            call.cancel()
        await asyncio.wait([running, waiting])
        service(host).let("c")

        assert await last == "c"
        assert "b" not in service(host).reached


async def test_whoever_waits_no_more_leaves_room_in_the_line(hosted_in_threads: Hosting) -> None:
    async with hosted_in_threads(SAMPLE, settings(max_concurrency=1)) as host:
        running = asyncio.create_task(host.value("sample_hold", gate="g"))
        await asyncio.wait([running], timeout=0)
        for _ in range(3):
            line = [asyncio.create_task(host.value("sample_hold", gate="no")) for _ in range(256)]
            await asyncio.wait(line, timeout=0)
            for call in line:
                call.cancel()
            await asyncio.wait(line)

        last = asyncio.create_task(host.value("sample_big", size=1))
        await asyncio.wait([last], timeout=0)
        service(host).let("g")

        assert await asyncio.gather(running, last) == ["g", "x"]


async def test_after_a_storm_of_calls_taken_back_every_place_is_free(
    hosted_in_threads: Hosting,
) -> None:
    order = Random(1)
    async with hosted_in_threads(SAMPLE, settings(max_concurrency=4)) as host:
        for _ in range(40):
            calls = [asyncio.create_task(host.value("sample_hold", gate="no")) for _ in range(20)]
            for call in order.sample(calls, len(calls)):
                for _ in range(order.randrange(6)):
                    await asyncio.sleep(0)  # one turn of the loop
                call.cancel()
            await asyncio.wait(calls)
        await answered(host)

        last = [asyncio.create_task(host.value("sample_hold", gate="yes")) for _ in range(4 + 256)]
        await asyncio.wait(last, timeout=0)
        assert (await host.error("sample_echo"))["code"] == "busy"
        service(host).let("yes")
        assert await asyncio.gather(*last) == ["yes"] * (4 + 256)
        assert host.host.packs["sample"].condition.state == "ready"


async def test_a_pack_with_32_calls_abandoned_is_busy_until_one_comes_back(
    hosted_in_threads: Hosting,
) -> None:
    tables = settings(tools={"hang": {"timeout": 0.05}})
    async with hosted_in_threads(SAMPLE, tables) as host:
        await asyncio.gather(*(host.error("sample_hang") for _ in range(32)))

        envelope = await host.error("sample_echo")

        assert envelope["code"] == "busy"
        assert envelope["details"] == {"reason": "calls_abandoned"}
        await until(host, "degraded")
        condition = host.host.packs["sample"].condition
        assert condition.code == "calls_abandoned"
        assert "32 of its calls run on" in condition.reason
        service(host).hung.set()
        await until(host, "ready")
        assert await host.value("sample_big", size=1) == "x"


async def test_a_degraded_pack_serves_on_and_says_why_until_it_recovers(hosted: Hosting) -> None:
    async with hosted(SAMPLE) as host:
        before = host.names()

        await host.value("sample_suffer", reason="no network")
        await until(host, "degraded")

        (report,) = (pack for pack in host.host.report() if pack["name"] == "sample")
        assert (report["code"], report["reason"]) == ("something_missing", "no network")
        assert report["remedy"] == "bring it back"
        assert host.names() == before
        await host.value("sample_heal")
        await until(host, "ready")


async def test_two_hosts_in_one_process_share_nothing(hosted: Hosting) -> None:
    async with hosted(SAMPLE) as one, hosted(SAMPLE, settings(prefix="other")) as two:
        await one.value("sample_suffer", reason="only here")
        await until(one, "degraded")

        assert two.host.packs["sample"].condition.state == "ready"
        assert "other_echo" in two.names()
        assert "sample_echo" in one.names()


async def test_a_program_gets_its_input_and_tells_its_output_and_code(
    hosted_in_threads: Hosting,
) -> None:
    copy = "import sys; sys.stdout.write(sys.stdin.read()[::-1]); sys.exit(3)"
    async with hosted_in_threads(SAMPLE) as host:
        done = await service(host).run([sys.executable, "-c", copy], stdin=b"abc")

        assert (done.returncode, done.stdout, done.timed_out) == (3, b"cba", False)


async def test_a_program_is_ended_at_its_deadline_and_when_it_writes_too_much(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE) as host, asyncio.timeout(FAR_BELOW_HALF_A_MINUTE):
        run = service(host).run

        slow = await run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
        loud = await run([sys.executable, "-c", "while True: print('x' * 1000)"], max_output=5000)

        assert (slow.timed_out, slow.returncode) == (True, None)
        assert (loud.truncated, loud.timed_out, len(loud.stdout)) == (True, False, 5000)


async def test_a_program_whose_call_is_taken_back_ends_with_all_that_it_started(
    tmp_path: Path, hosted_in_threads: Hosting
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = "import sys, time; held = open(sys.argv[1], 'w'); time.sleep(60)"
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    async with hosted_in_threads(SAMPLE) as host:
        argv = [sys.executable, "-c", parent, child, str(fifo)]
        running = asyncio.create_task(service(host).run(argv))
        with await asyncio.to_thread(fifo.open) as reader:  # the grandchild has begun
            running.cancel()
            await asyncio.wait([running])

            assert await asyncio.to_thread(reader.read) == ""  # nobody holds the other end


async def test_a_program_sees_a_listed_environment_and_no_secret(
    monkeypatch: pytest.MonkeyPatch, hosted_in_threads: Hosting
) -> None:
    for name, value in {"LC_SECRET": "0", "MY_TOKEN": "t", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)
    tables = settings(settings={"pages": {"env": "LC_SECRET"}})
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    async with hosted_in_threads(SAMPLE, tables) as host:
        done = await service(host).run([sys.executable, "-c", show], env={"GIVEN": "yes"})

        seen = json.loads(done.stdout)
        assert (seen["LC_ALL"], seen["GIVEN"], "PATH" in seen) == ("C", "yes", True)
        assert not {"LC_SECRET", "MY_TOKEN", "PYTHONPATH"} & seen.keys()
