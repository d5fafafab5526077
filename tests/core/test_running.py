"""Calls at work: deadlines, places, calls left behind, and how a pack's condition follows."""

import asyncio
from typing import Any

import pytest
from mcp_host.testing import Hosted, hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
FAR_BELOW_HALF_A_MINUTE = 5.0


def settings(host: dict[str, Any] | None = None, **sample: Any) -> dict[str, Any]:
    return {"host": host or {}, "packs": {"sample": sample}}


def service(host: Hosted) -> Any:
    return host.host.packs["sample"].runtime.service


async def until(host: Hosted, state: str) -> None:
    """Wait for changes until the sample pack is in this state."""
    while host.host.packs["sample"].now.state != state:
        await host.next_change("host://packs")


@pytest.mark.parametrize(
    ("tool", "retryable", "details"),
    [
        ("hang", False, {"outcome": "unknown"}),
        ("stubborn", False, {"outcome": "unknown"}),
        ("look_long", True, None),
    ],
)
async def test_a_tool_that_does_not_let_go_is_answered_at_its_deadline(
    tool: str, retryable: bool, details: Any
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
    tables: dict[str, Any], tool: str, seconds: str
) -> None:
    arguments = {"gate": "never"} if tool == "hold" else {}
    async with hosted(SAMPLE, tables) as host:
        envelope = await host.error(f"sample_{tool}", **arguments)

        assert envelope["error"] == f"sample_{tool} took longer than {seconds} s"


async def test_a_call_that_times_out_is_cancelled_in_its_pack_and_frees_its_place() -> None:
    async with hosted(SAMPLE, settings({"max_concurrency": 1}, timeout=0.1)) as host:
        await host.error("sample_hold", gate="never")

        assert await host.value("sample_reached", gate="never cancelled: True")


async def test_a_pack_that_blocks_its_own_loop_holds_up_no_other() -> None:
    async with hosted({**SAMPLE, "tools": "misbehaving.tools"}) as host:
        blocked = asyncio.create_task(host.error("tools_blocks"))
        waiting = asyncio.create_task(host.value("tools_quick"))

        assert await host.value("sample_echo", text="a") != {}

        assert not blocked.done()
        assert (await blocked)["code"] == "timeout"
        assert await waiting == "quick"


async def test_four_times_as_many_calls_wait_as_may_run_and_the_next_hears_busy() -> None:
    async with hosted(SAMPLE, settings(max_concurrency=2)) as host:
        calls = [asyncio.create_task(host.value("sample_hold", gate="g")) for _ in range(10)]
        await asyncio.wait(calls, timeout=0)

        envelope = await host.error("sample_hold", gate="g")

        assert (envelope["code"], envelope["retryable"]) == ("busy", True)
        assert envelope["details"] == {"reason": "too_many_calls"}
        service(host).let("g")
        assert await asyncio.gather(*calls) == ["g"] * 10


async def test_a_call_taken_back_passes_its_place_on_whether_it_ran_or_waited() -> None:
    async with hosted(SAMPLE, settings(max_concurrency=1)) as host:
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


async def test_a_pack_with_32_calls_left_behind_is_busy_until_one_comes_back() -> None:
    tables = settings(tools={"hang": {"timeout": 0.05}})
    async with hosted(SAMPLE, tables) as host:
        await asyncio.gather(*(host.error("sample_hang") for _ in range(32)))

        envelope = await host.error("sample_echo")

        assert envelope["code"] == "busy"
        assert envelope["details"] == {"reason": "calls_left_behind"}
        await until(host, "degraded")
        condition = host.host.packs["sample"].now
        assert condition.code == "calls_left_behind"
        assert "32 of its calls run on" in condition.reason
        service(host).hung.set()
        await until(host, "ready")
        assert await host.value("sample_big", size=1) == "x"


async def test_a_degraded_pack_serves_on_and_says_why_until_it_recovers() -> None:
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


async def test_two_hosts_in_one_process_share_nothing() -> None:
    async with hosted(SAMPLE) as one, hosted(SAMPLE, settings(prefix="other")) as two:
        await one.value("sample_suffer", reason="only here")
        await until(one, "degraded")

        assert two.host.packs["sample"].now.state == "ready"
        assert "other_echo" in two.names()
        assert "sample_echo" in one.names()
