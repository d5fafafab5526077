"""Nothing that a pack does on its side reaches the host's loop; what leaves it is bounded."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Tool
from mcp_host.runtime import bounds
from mcp_host.runtime.messages import ENTRIES, REASON_BYTES
from mcp_host.testing import CallFailed, Hosted

pytestmark = pytest.mark.anyio

PACKS = {"sample": "sample_pack.plugin", "border": "misbehaving.border"}
SMALL = {"host": {"max_answer_bytes": 10_000}}


@pytest.fixture
def border(sample_packs_can_be_imported: None) -> Any:
    """The module of the misbehaving pack, which notes what ran where."""
    return import_module("misbehaving.border")


@pytest.fixture
async def either_host(border: Any, hosted: Hosting) -> AsyncIterator[Hosted]:
    """As `host`, and once more with both packs in processes of their own."""
    border.GATE.clear()
    try:
        async with hosted(PACKS, SMALL) as running, asyncio.timeout(60):
            yield running
    finally:
        border.GATE.set()


@pytest.fixture
async def host(border: Any, hosted_in_threads: Hosting) -> AsyncIterator[Hosted]:
    """A good pack beside one whose objects run code, and that storms as long as it is open."""
    border.RAN.clear()
    border.GATE.clear()
    try:
        async with hosted_in_threads(PACKS, SMALL) as running, asyncio.timeout(60):
            yield running
    finally:
        border.GATE.set()


async def answers(host: Hosted) -> None:
    """The good pack answers, on its loop and in a thread."""
    assert await host.value("sample_big", size=3) == "xxx"
    assert (await host.value("sample_echo", text="hello"))["text"] == "hello"


@pytest.mark.parametrize("tool", ["wordless", "hesitant"])
async def test_what_is_slow_to_be_told_costs_its_own_call_and_no_other(
    host: Hosted, border: Any, tool: str
) -> None:
    slow = asyncio.create_task(host.error(f"border_{tool}"))

    await answers(host)

    assert not border.GATE.is_set()
    assert (await slow)["code"] == "timeout"
    await answers(host)


async def test_no_code_of_a_pack_runs_in_the_hosts_thread(host: Hosted, border: Any) -> None:
    with pytest.raises(CallFailed):
        await host.value("border_wordless")
    await host.error("border_laden")
    await host.error("border_hesitant")
    await host.value("border_written")
    assert await host.value("border_validated", value="x") == "x"
    await host.complete({"type": "ref/prompt", "name": "border_complete"}, "word", "a")

    ran = {what for what, _ in border.RAN}
    threads = {thread for _, thread in border.RAN}
    assert ran >= {"text", "details", "suggestions", "map", "serializer", "validator"}
    assert ran >= {"question", "proposals"}
    assert threading.current_thread().name not in threads
    assert all(thread.startswith("pack-border") for thread in threads)


async def test_what_has_no_end_is_cut(either_host: Hosted) -> None:
    envelope = await either_host.error("border_laden")
    proposed = await either_host.complete(
        {"type": "ref/prompt", "name": "border_complete"}, "word", "a"
    )

    assert envelope["code"] == "conflict"
    assert len(envelope["suggestions"]) == ENTRIES
    assert envelope["details"]["endless"] == "count"
    assert proposed[:2] == ["a0", "a1"]
    assert len(proposed) == 100


@pytest.mark.parametrize(
    ("tool", "arguments"), [("large", {"size": 10_000}), ("many", {"items": 3_000})]
)
async def test_an_answer_over_the_limit_is_an_error_that_says_how_long_it_was(
    either_host: Hosted, tool: str, arguments: dict[str, Any]
) -> None:
    envelope = await either_host.error(f"border_{tool}", **arguments)

    assert (envelope["code"], envelope["retryable"]) == ("unsupported", False)
    assert envelope["details"]["reason"] == "answer_too_large"
    assert envelope["details"]["bytes"] > envelope["details"]["limit"] == 10_000
    assert await either_host.value(f"border_{tool}", **dict.fromkeys(arguments, 10))


async def test_a_flood_of_a_call_delays_nobody_and_ends_with_the_call(either_host: Hosted) -> None:
    flood = asyncio.create_task(either_host.error("border_floods"))

    for _ in range(20):
        await answers(either_host)

    assert (await flood)["code"] == "timeout"
    await answers(either_host)


async def test_a_storm_of_conditions_is_told_in_few_bounded_words(either_host: Hosted) -> None:
    while either_host.host.packs["border"].condition.state != "degraded":
        await either_host.next_change("host://packs")

    reason = either_host.host.packs["border"].condition.reason
    assert reason.startswith("stormy zzz")
    assert len(reason.encode()) <= REASON_BYTES


@pytest.mark.parametrize(
    ("value", "limit", "made"),
    [
        ("short", 100, "short"),
        ("é" * 100, 21, "é" * 9 + "…"),
        ("\udc80", 100, "\udc80"),
    ],
)
def test_a_text_is_cut_to_bytes_and_never_within_a_character(
    value: str, limit: int, made: str
) -> None:
    assert bounds.cut(value, limit) == made
    assert len(bounds.cut(value * 50, limit).encode("utf-8", "replace")) <= limit


def test_an_iterator_without_an_end_is_cut_and_one_with_an_end_is_a_list() -> None:
    endless = {"numbers": itertools.count()}

    assert bounds.least_bytes(endless, 1000) == (4, True)
    assert len(bounds.listed(endless, 1000)["numbers"]) == 501
    assert bounds.listed([iter("ab"), 1], 1000) == [["a", "b"], 1]


def test_data_that_holds_itself_is_known_from_data_that_holds_something_twice() -> None:
    twice = ["x"]
    circle: dict[str, Any] = {"twice": [twice, twice]}
    assert not bounds.holds_itself(circle)

    circle["itself"] = [circle]

    assert bounds.holds_itself(circle)


def test_words_of_a_class_of_the_packs_own_are_plain_for_the_host() -> None:
    class Words(str):
        def __str__(self) -> str:
            raise AssertionError

    made = Tool(len, name=Words("act"), description=Words("Act"), meta={"x": [Words("y")]})

    assert (made.name, made.description, made.meta) == ("act", "Act", {"x": ["y"]})
    assert {type(made.name), type(made.description), type(made.meta["x"][0])} == {str}
