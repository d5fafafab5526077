"""Lists that change while a pack serves: for everybody, or for one caller."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller
from mcp_host.testing import CallFailed, Hosted, Person

pytestmark = pytest.mark.anyio

PACK = """
import asyncio
import threading
import time
from contextlib import asynccontextmanager
from typing import Annotated

from mcp_host import Ask, Complete, Context, Needs, hookimpl, prompt, resource, tool


class Service:
    def __init__(self, pack):
        self.pack = pack
        self.go_on = threading.Event()


def made(name, version=1, *, read_only=True):
    @tool(name=name, read_only=read_only)
    def offered(service: "Service", /, wait: bool = False) -> str:
        "Say which it is; see {tool:offer}."
        if wait:
            service.go_on.wait(30)
        return f"{name} {version}"

    return offered


@tool
def offer(service: Service, /, name: str, version: int = 1, writes: bool = False) -> str:
    "Offer a tool."
    service.pack.offer(made(name, version, read_only=not writes))
    return "offered"


@tool
async def offer_mine(service: Service, /, name: str, context: Context) -> str:
    "Offer a tool to whoever calls."
    service.pack.offer(made(name, context.caller.subject), caller=context.caller)
    return "offered"


@tool
def withdraw(service: Service, /, name: str) -> str:
    "Withdraw what was offered."
    service.pack.withdraw(name)
    service.go_on.set()
    return "withdrawn"


@tool
def withdraw_mine(service: Service, /, name: str, context: Context) -> str:
    "Withdraw what was offered to whoever calls."
    service.pack.withdraw(name, caller=context.caller)
    return "withdrawn"


@tool
def churn(service: Service, /, numbers: list[int], window: int) -> str:
    "Offer and withdraw tools, one after the other; the last stay, and the next numbers follow."
    for number in range(*numbers):
        service.pack.offer(made(f"n{number}", number))
        if number >= window:
            service.pack.withdraw(f"n{number - window}")
        time.sleep(0.001)
    return "churned"


@tool
def offer_others(service: Service, /) -> str:
    "Offer one of each kind, and a tool that asks."

    @resource("offers://fixed")
    def fixed() -> str:
        return "fixed"

    @resource("offers://{name}/text")
    def template(name: Annotated[str, Complete(lambda value: [value + "!"])]) -> str:
        return name

    @prompt
    def greet(who: str) -> str:
        "Greet."
        return f"Hello {who}"

    @tool
    def remove(sure: Annotated[bool, Ask("Remove it?")]) -> str:
        "Remove."
        return f"removed: {sure}"

    for one in (fixed, template, greet, remove):
        service.pack.offer(one)
    return "offered"


@tool
def offer_wrong(service: Service, /, what: str) -> str:
    "Offer what cannot be."
    wrong = {"text": "text", "long": made("x" * 70), "bad": made("bad name")}
    try:
        service.pack.offer(wrong[what])
    except Exception as error:
        return str(error)
    return "offered"


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    pack.offer(made("first"))
    yield Service(pack)


@hookimpl
def mcp_host_tools():
    return [offer, offer_mine, withdraw, withdraw_mine, offer_others, offer_wrong, churn]


@hookimpl
def mcp_host_needs():
    return Needs((), changes_lists=True)
"""
OFFERS = {"offers": "offers_pack"}
DECLARED = 7
ANN, BOB = (Caller(subject=name, scopes=frozenset({"*"})) for name in ("ann", "bob"))


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "offers_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "offers_pack", raising=False)


async def code_of(host: Hosted, tool: str, /, **arguments: Any) -> Any:
    return (await host.error(tool, **arguments))["code"]


async def test_a_tool_is_offered_called_replaced_and_withdrawn(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        assert await host.value("offers_first") == "first 1"

        await host.value("offers_offer", name="more")
        assert "offers_more" in host.names()
        assert host.listed("offers_more")["description"] == "Say which it is; see offers_offer."
        assert await host.value("offers_more") == "more 1"
        await host.next_change()

        await host.value("offers_offer", name="more", version=2)
        assert await host.value("offers_more") == "more 2"
        assert len(host.names()) == DECLARED + 2

        await host.value("offers_withdraw", name="more")
        assert "offers_more" not in host.names()
        assert await code_of(host, "offers_more") == "not_found"


async def test_a_call_that_began_ends_as_the_tool_that_it_was_made_to(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        await host.value("offers_offer", name="slow")
        running = asyncio.create_task(host.value("offers_slow", wait=True))
        await asyncio.sleep(0)
        await host.value("offers_offer", name="slow", version=2)
        assert await host.value("offers_slow") == "slow 2"
        await host.value("offers_withdraw", name="slow")

        assert await running == "slow 1"


async def test_what_is_offered_to_a_caller_nobody_else_sees_or_calls(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        ann, bob = host.seen_by(ANN), host.seen_by(BOB)
        await ann.value("offers_offer_mine", name="own")
        assert "offers_own" in ann.names()
        assert "offers_own" not in bob.names()
        assert await ann.value("offers_own") == "own ann"
        assert await code_of(bob, "offers_own") == "not_found"

        await bob.value("offers_offer_mine", name="own")
        assert await bob.value("offers_own") == "own bob"
        await bob.value("offers_withdraw_mine", name="own")
        assert await ann.value("offers_own") == "own ann"
        assert "offers_own" not in bob.names()


async def test_a_caller_whom_nothing_proves_is_offered_nothing(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        nobody = host.seen_by(Caller(connection=None))

        assert await code_of(nobody, "offers_offer_mine", name="own") == "unsupported"
        assert "offers_own" not in nobody.names()


async def test_what_was_offered_goes_with_the_connection(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        one = host.seen_by(Caller(connection="one"))
        await one.value("offers_offer_mine", name="own")
        assert "offers_own" in one.names()

        host.host.left("connection:one")

        assert "offers_own" not in one.names()


async def test_resources_templates_prompts_and_tools_that_ask_are_offered(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        await host.value("offers_offer_others")

        assert await host.text("offers://fixed") == "fixed"
        assert await host.text("offers://a/text") == "a"
        ref = {"type": "ref/resource", "uri": "offers://{name}/text"}
        assert await host.complete(ref, "name", "b") == ["b!"]
        assert await host.prompt("offers_greet", who="Ann") == ["Hello Ann"]
        assert await host.seen_by(person=Person()).value("offers_remove") == "removed: True"
        for name in ("offers://fixed", "offers://{name}/text", "greet", "remove"):
            await host.value("offers_withdraw", name=name)
        assert "offers://fixed" not in host.names("resources")
        assert host.names("resourceTemplates") == []
        assert host.names("prompts") == []


async def test_policy_scopes_and_limits_hold_for_what_is_offered(hosted: Hosting) -> None:
    table = {"exclude": ["hidden*"], "tools": {"slow": {"timeout": 0.2}}}
    async with hosted(OFFERS, {"packs": {"offers": table}}) as host:
        for name in ("hidden", "slow"):
            await host.value("offers_offer", name=name)
        await host.value("offers_offer", name="writing", writes=True)
        reader = host.seen_by(Caller(subject="r", scopes=frozenset({"offers:read"})))

        assert "offers_hidden" not in host.names()
        assert await code_of(host, "offers_hidden") == "permission_denied"
        assert "offers_writing" not in reader.names()
        assert await code_of(reader, "offers_writing") == "permission_denied"
        assert await code_of(host, "offers_slow", wait=True) == "timeout"


async def test_a_name_that_is_taken_is_refused_and_makes_the_pack_degraded(
    hosted: Hosting, caplog: pytest.LogCaptureFixture
) -> None:
    async with hosted(OFFERS) as host:
        await host.value("offers_offer", name="withdraw")
        condition = host.host.packs["offers"].condition
        assert (condition.state, condition.code) == ("degraded", "name_clash")
        assert "it offered withdraw, which was refused" in condition.reason
        assert "it offered withdraw, which was refused" in caplog.text
        assert await host.value("offers_withdraw", name="withdraw") == "withdrawn"
        assert host.host.packs["offers"].condition.state == "ready"

        ann = host.seen_by(ANN)
        await ann.value("offers_offer_mine", name="own")
        await host.value("offers_offer", name="own")
        assert host.host.packs["offers"].condition.code == "name_clash"
        assert "offers_own" not in host.names()
        assert await ann.value("offers_own") == "own ann"


async def test_what_cannot_be_served_is_refused_where_it_is_offered(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        told = await host.value("offers_offer_wrong", what="text")
        assert told == "what is offered must be made by @tool, @resource or @prompt, not 'text'"

        for what in ("long", "bad"):
            await host.value("offers_offer_wrong", what=what)
            assert host.host.packs["offers"].condition.code == "name_invalid"
        assert len(host.names()) == DECLARED + 1


async def test_a_pack_that_does_not_declare_it_offers_nothing(
    hosted: Hosting, tmp_path: Path
) -> None:
    (tmp_path / "offers_pack.py").write_text(PACK.replace("changes_lists=True", "()"))
    async with hosted(OFFERS) as host:
        condition = host.host.packs["offers"].condition

        assert condition.state == "failed"
        assert "mcp_host_needs returns Needs(changes_lists=True)" in condition.reason


async def test_a_list_that_is_read_in_pages_is_one_list_that_was(hosted: Hosting) -> None:
    async with hosted(OFFERS, {"host": {"page_size": 3}}) as host:
        for number in range(4):
            await host.value("offers_offer", name=f"n{number}")
        before = host.names()
        page = host.host.page("tools", None, host.caller)
        seen = [tool["name"] for tool in page["tools"]]

        await host.value("offers_withdraw", name="first")
        await host.value("offers_offer", name="n9")
        while "nextCursor" in page:
            page = host.host.page("tools", page["nextCursor"], host.caller)
            seen += [tool["name"] for tool in page["tools"]]

        assert seen == before
        assert "offers_n9" in host.names()


async def test_a_pack_that_is_opened_once_more_begins_with_empty_hands(
    hosted: Hosting, tmp_path: Path
) -> None:
    dying = PACK.replace("    yield Service(pack)", "    yield await dying(pack)") + (
        "\n\nasync def dying(pack):\n"
        "    pack.offer(made('second'))\n"
        "    raise RuntimeError('no service')\n"
    )
    (tmp_path / "offers_pack.py").write_text(dying)
    async with hosted(OFFERS, {"host": {"retry_after": 300}}) as host:
        assert host.host.packs["offers"].condition.state == "failed"
        tables = (host.host.catalog.tools, host.host.catalog.prompts)
        assert not any("second" in json.dumps(list(table)) for table in tables)


WINDOW = 5
CHANGED = "notifications/tools/list_changed"


def is_a_list_that_was(names: list[str]) -> bool:
    """Whether these are the tools between two steps of `churn`."""
    numbers = [int(name.removeprefix("offers_n")) for name in names]
    if not numbers:
        return True
    first, last = numbers[0], numbers[-1]
    sizes = (WINDOW, WINDOW + 1) if first else range(1, WINDOW + 2)
    return numbers == list(range(first, last + 1)) and len(numbers) in sizes


async def churned(host: Hosted, first: int, end: int) -> tuple[int, int]:
    """Call whatever stands in the lists while they change; how many calls, how many too late."""
    offering = host.value("offers_churn", numbers=[first, end], window=WINDOW)
    churning = asyncio.create_task(offering)
    calls = late = 0

    async def call(name: str) -> None:
        nonlocal calls, late
        try:
            number = name.removeprefix("offers_n")
            assert await host.value(name) == f"n{number} {number}"
            calls += 1
        except CallFailed as failed:
            assert failed.code == "not_found"
            late += 1

    while not churning.done():
        names = [name for name in host.names() if name.startswith("offers_n")]
        assert is_a_list_that_was(names), names
        if names:
            await asyncio.gather(*(call(name) for name in (*names, *names)))
        else:
            await asyncio.sleep(0.001)
    await churning
    return calls, late


async def test_lists_change_under_load_and_no_call_goes_astray(hosted: Hosting) -> None:
    async with hosted(OFFERS) as host:
        calls, late = await churned(host, 0, 100)

        assert calls > late
        assert len(host.names()) == DECLARED + 1 + WINDOW


@pytest.mark.torture
async def test_a_thousand_additions_and_withdrawals_lose_no_call(hosted: Hosting) -> None:
    calls = late = first = 0
    async with hosted(OFFERS, {"packs": {"offers": {"timeout": 300}}}) as host:
        while calls <= 1000:  # on a busy machine, fewer calls come between the changes
            more, too_late = await churned(host, first, first + 1000)
            calls, late, first = calls + more, late + too_late, first + 1000

    assert calls > late


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_clients_of_both_eras_hear_of_it(
    machine: Any, tmp_path: Path, protocol: str, isolation: str
) -> None:
    settings = f"""
[host]
isolation = "{isolation}"
[packs.offers]
enabled = true
"""
    info = tmp_path / "offers_pack-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offers-pack\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mcp_host.packs]\noffers = offers_pack\n")
    listening = {"notifications": {"toolsListChanged": True}}

    for _ in ("without a saved catalogue", "with one"):
        async with machine.serve(settings, packs=[tmp_path], protocol=protocol) as client:
            assert (await client.request("tools/list")).get("ttlMs", 0) == 0
            if protocol == "2026-07-28":
                await client.send(client.frame("listen", "subscriptions/listen", listening))
                await client.notified("notifications/subscriptions/acknowledged")
            heard = len([n for n in client.notifications if n["method"] == CHANGED])

            await client.value("offers_offer", name="more")

            await client.notified(CHANGED, heard + 1)
            tools = [tool["name"] for tool in await client.tools()]
            assert {"offers_first", "offers_more"} <= set(tools)
            assert await client.value("offers_more") == "more 1"
