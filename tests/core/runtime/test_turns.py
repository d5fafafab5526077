"""Where a first call is due, its pack opens before the others, and nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_host.host import Host
from mcp_host.packs.inventory import Inventory
from mcp_host.packs.loading import Offer
from mcp_host.runtime import turns
from mcp_host.settings.loading import parse

pytestmark = pytest.mark.anyio

PLUGIN = """
import asyncio
from contextlib import asynccontextmanager
from mcp_host import hookimpl, tool
import turns_gates as gates

@hookimpl
@asynccontextmanager
async def mcp_host_open():
    gates.opened.append({name!r})
    while {name!r} in gates.hanging:
        await asyncio.sleep(0.01)
    yield {name!r}

@tool(read_only=True)
async def who(service, /) -> str:
    return service

@hookimpl
def mcp_host_tools():
    return [who]
"""
Serve = Callable[..., Any]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Opens a host in turn with the packs a, b and c, of which some hang while they open."""
    (tmp_path / "turns_gates.py").write_text("opened, hanging = [], set()\n")
    for name in "abc":
        (tmp_path / f"turns_{name}.py").write_text(PLUGIN.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)

    @asynccontextmanager
    async def serving(*, hanging: str = "") -> AsyncIterator[tuple[Host, list[str]]]:
        import turns_gates as gates  # type: ignore[import-not-found]  # written above

        gates.opened.clear()
        gates.hanging.clear()
        gates.hanging.update(hanging)
        settings = parse({"packs": {name: {"enabled": True} for name in "abc"}}, None, {})
        offers = {name: [Offer(name, f"turns_{name}", name, "1")] for name in "abc"}
        inventory = Inventory(settings, offers=offers)
        inventory.load()
        host = Host(inventory)
        await host.open(in_turn=True)
        try:
            yield host, gates.opened
        finally:
            gates.hanging.clear()
            await host.close()

    return serving


async def test_the_pack_that_is_called_opens_before_all_others(serve: Serve) -> None:
    async with serve() as (host, opened):
        await host.call_tool("c_who", {}, host.context())
        assert opened[0] == "c"
        await host.settled()

    assert sorted(opened) == ["a", "b", "c"]


async def test_all_open_also_where_nothing_is_called(serve: Serve) -> None:
    async with serve() as (host, opened):
        async with asyncio.timeout(30):
            while host.running["c"].health.condition.state != "ready":  # noqa: ASYNC110 - told to nobody
                await asyncio.sleep(0.01)

    assert opened == ["a", "b", "c"]


async def test_a_pack_that_does_not_open_holds_up_neither_the_rest_nor_a_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    async with serve(hanging="a") as (host, opened):
        assert b'"b"' in (await host.call_tool("b_who", {}, host.context())).body
        async with asyncio.timeout(30):
            while host.running["c"].health.condition.state != "ready":  # noqa: ASYNC110 - told to nobody
                await asyncio.sleep(0.01)

    assert opened == ["b", "a", "c"]


async def test_a_host_that_ends_at_once_opens_nothing_that_nobody_waits_for(serve: Serve) -> None:
    async with serve() as (_, opened):
        pass

    assert opened == []
