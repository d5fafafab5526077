"""The resource `host://usage` tells each caller of its own costliest answers, and of the lists."""

import json
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller
from mcp_host.packs.usage import CALLERS, COSTLIEST, Usage
from mcp_host.testing import Hosted

pytestmark = pytest.mark.anyio

DESK = {"desk": "desk_pack.plugin"}
ANN, BOB = Caller("ann"), Caller("bob")


async def usage(kit: Hosted) -> Any:
    return json.loads(await kit.text("host://usage"))


async def test_each_caller_sees_its_own_costliest_answers(hosted: Hosting) -> None:
    async with hosted(DESK) as kit:
        ann, bob = kit.seen_by(ANN), kit.seen_by(BOB)
        await ann.value("desk_greet", name="x" * 4000)
        await ann.value("desk_greet", name="y")
        await bob.value("desk_greet", name="z" * 100)

        answers = (await usage(ann))["answers"]
        assert [answer["tool"] for answer in answers] == ["desk_greet", "desk_greet"]
        assert answers[0]["bytes"] > 4000 > answers[1]["bytes"]
        assert answers[0]["tokens"] == -(-answers[0]["bytes"] // 4)
        assert len((await usage(bob))["answers"]) == 1
        assert (await usage(kit.seen_by(Caller())))["answers"] == []


async def test_a_failed_call_and_its_arguments_leave_nothing_but_its_size(hosted: Hosting) -> None:
    async with hosted(DESK) as kit:
        ann = kit.seen_by(ANN)
        await ann.error("desk_greet", nme="a-private-word")

        (answer,) = (await usage(ann))["answers"]
        assert set(answer) == {"tool", "pack", "bytes", "tokens", "ms", "time"}


async def test_lists_are_counted_as_the_caller_sees_them(hosted: Hosting) -> None:
    async with hosted(DESK) as kit:
        everything = (await usage(kit.seen_by(ANN)))["lists"]["desk"]
        reader = Caller("eve", frozenset({"host:read", "desk:read"}))
        read = (await usage(kit.seen_by(reader)))["lists"]["desk"]
        stranger = Caller("joe", frozenset({"host:read"}))

        assert 0 < read["tools"] < everything["tools"]
        assert everything["tokens"] == sum(v for k, v in everything.items() if k != "tokens")
        assert list((await usage(kit.seen_by(stranger)))["lists"]) == ["host"]


def test_ten_answers_are_kept_of_each_caller_and_callers_are_bounded() -> None:
    usage = Usage()
    for size in range(100):
        usage.note("ann", size, "tool", "t", "p", 1.0)
    assert [about["bytes"] for about in usage.of("ann")] == list(range(99, 99 - COSTLIEST, -1))

    for number in range(CALLERS):
        usage.note(f"caller {number}", 1, "tool", "t", "p", 1.0)
    assert usage.of("ann") == []
    usage.forget("caller 5")
    assert usage.of("caller 5") == []
