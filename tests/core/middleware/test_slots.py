"""Places are shared fairly: a caller's flood is their own, and others pass it by."""

import asyncio
from random import Random
from typing import Any

import pytest
from mcp_host import Caller
from mcp_host.middleware import slots
from mcp_host.testing import CallFailed, Hosted, hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
Calls = list[asyncio.Task[Any]]


def places(count: int) -> dict[str, Any]:
    return {"packs": {"sample": {"max_concurrency": count}}}


def by(host: Hosted, subject: str) -> Hosted:
    """The host as the holder of a token calls it."""
    return host.seen_by(Caller(subject=subject, scopes=frozenset({"*"})))


def held(host: Hosted, *gates: str) -> Calls:
    """Calls that wait at these gates, once they have a place."""
    return [asyncio.create_task(host.value("sample_hold", gate=gate)) for gate in gates]


async def begun(*calls: asyncio.Task[Any]) -> None:
    """Let the calls come as far as they can: to a place or into their line."""
    await asyncio.wait(calls, timeout=0)


def gates(host: Hosted) -> Any:
    return host.host.running["sample"].worker.service


async def test_callers_with_a_line_get_places_in_turn() -> None:
    async with hosted(SAMPLE, places(1)) as host:
        anns = held(by(host, "ann"), *(f"ann{n}" for n in range(6)))
        await begun(*anns)
        bobs = held(by(host, "bob"), "bob0", "bob1")
        await begun(*bobs)

        for turn in (anns[0], anns[1], bobs[0], anns[2], bobs[1], anns[3], anns[4], anns[5]):
            name = (
                f"{'ann' if turn in anns else 'bob'}{(anns if turn in anns else bobs).index(turn)}"
            )
            gates(host).let(name)
            assert await turn == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            Caller(subject="ann", scopes=frozenset("*")),
            Caller(subject="bob", scopes=frozenset("*")),
        ),
        (Caller(connection="1"), Caller(connection="2")),
        (Caller(subject="ann", scopes=frozenset("*")), Caller(connection="ann")),
        (Caller(connection=None), Caller(connection="1")),
    ],
)
async def test_a_full_line_is_full_for_its_caller_alone(one: Caller, other: Caller) -> None:
    async with hosted(SAMPLE, places(1)) as host:
        flood = held(host.seen_by(one), *["g"] * (1 + 256))
        await begun(*flood)
        theirs = held(host.seen_by(other), "g")
        await begun(*theirs)

        assert (await host.seen_by(one).error("sample_echo"))["code"] == "busy"

        gates(host).let("g")
        assert await asyncio.gather(*theirs, *flood) == ["g"] * (2 + 256)


async def test_one_who_calls_in_parallel_has_three_quarters_while_others_are_about() -> None:
    async with hosted(SAMPLE, places(16)) as host:
        ann, bob = by(host, "ann"), by(host, "bob")
        await bob.value("sample_echo")
        anns = held(ann, *["g"] * 16)
        await begun(*anns)

        assert await bob.value("sample_let_go", gate="other") == 12

        gates(host).let("g")
        assert await asyncio.gather(*anns) == ["g"] * 16


async def test_one_who_floods_has_a_thirty_second_while_others_are_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots, "YIELDS", 0)
    async with hosted(SAMPLE, places(32)) as host:
        ann, bob = by(host, "ann"), by(host, "bob")
        await bob.value("sample_echo")
        first = held(ann, *["first"] * 24)
        await begun(*first)
        then = held(ann, *["then"] * 76)
        await begun(*then)
        assert await bob.value("sample_let_go", gate="first") == 24
        await asyncio.gather(*first)

        assert await bob.value("sample_let_go", gate="other") == 24 + 1

        gates(host).let("then")
        assert await asyncio.gather(*then) == ["then"] * 76


async def test_one_who_floods_lets_the_calls_of_others_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots, "YIELDS", 3600)
    async with hosted(SAMPLE, places(4)) as host:
        ann, bob = by(host, "ann"), by(host, "bob")
        bobs = held(bob, "bob")
        await begun(*bobs)
        first = held(ann, *["first"] * 3)
        await begun(*first)
        then = held(ann, *["then"] * 9)
        await begun(*then)
        gates(host).let("first")
        await asyncio.gather(*first)

        assert await bob.value("sample_let_go", gate="other") == 1 + 3

        gates(host).let("bob")
        gates(host).let("then")
        assert await asyncio.gather(*bobs, *then) == ["bob"] + ["then"] * 9


async def test_one_who_is_alone_has_every_place() -> None:
    async with hosted(SAMPLE, places(16)) as host:
        ann = by(host, "ann")
        flood = held(ann, *["g"] * 200)
        await begun(*flood)
        bobs = held(by(host, "bob"), "bob")
        await begun(*bobs)
        gates(host).let("g")
        gates(host).let("bob")

        assert await asyncio.gather(*flood, *bobs) == ["g"] * 200 + ["bob"]


async def test_a_call_whose_time_ends_before_its_turn_says_what_it_waited_for() -> None:
    table = {"max_concurrency": 1, "tools": {"put": {"timeout": 0.05}}}
    async with hosted(SAMPLE, {"packs": {"sample": table}}) as host:
        holding = held(host, "g")
        await begun(*holding)

        late = await host.error("sample_put", path="x")
        gates(host).let("g")
        await holding[0]

    assert late["code"] == "timeout"
    assert late["retryable"]
    assert "did not get its turn within 0.05 s" in late["error"]
    assert "max_concurrency = 1 of [packs.sample]" in late["error"]


async def test_after_a_storm_of_several_callers_every_place_is_free_and_nobody_is_lost() -> None:
    chance = Random(7)
    async with hosted(SAMPLE, places(8)) as host:
        callers = [by(host, name) for name in ("ann", "bob", "zoe")]
        gates(host).let("open")
        for _ in range(40):
            calls = [
                asyncio.create_task(
                    chance.choice(callers).value("sample_hold", gate=chance.choice(["no", "open"]))
                )
                for _ in range(40)
            ]
            for call in chance.sample(calls, len(calls)):
                for _ in range(chance.randrange(6)):
                    await asyncio.sleep(0)  # one turn of the loop
                call.cancel()
            await asyncio.wait(calls)

        await calls_are_taken(callers[0])
        last = [call for caller in callers for call in held(caller, *["yes"] * 20)]
        await begun(*last)
        gates(host).let("yes")
        assert await asyncio.gather(*last) == ["yes"] * 60
        while host.host.packs["sample"].condition.state != "ready":
            await host.next_change("host://packs")


async def calls_are_taken(caller: Hosted) -> None:
    """Wait until enough of the calls that were cancelled have ended for the pack to take others."""
    while True:
        try:
            await caller.value("sample_hold", gate="open")
        except CallFailed as failed:
            assert failed.envelope["details"]["reason"] == "calls_abandoned"
            await asyncio.sleep(0)  # what the pack says is heard in a turn of the loop
        else:
            return
