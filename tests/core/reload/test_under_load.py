"""Many reloads while calls run: none is lost, no list is stale, and nothing grows."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from core_home import Home
from mcp_host.serving.reload.control import ask
from mcp_host.testing import StdioClient

pytestmark = pytest.mark.anyio

PACK = """
import asyncio
from contextlib import asynccontextmanager

from mcp_host import hookimpl, tool
from pydantic import BaseModel


class Settings(BaseModel, frozen=True):
    turn: int = 0


@tool(read_only=True)
async def turn(service, /) -> int:
    "Tell the turn, after a moment."
    await asyncio.sleep(0.005)
    if service["closed"]:
        raise RuntimeError("a call ran on after its pack was closed")
    return service["turn"]


@tool(read_only=True)
def plain(service, /) -> int:
    "Tell the turn."
    return service["turn"]


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings):
    service = {"turn": settings.turn, "closed": False}
    yield service
    service["closed"] = True


@hookimpl
def mcp_host_tools():
    return [turn, plain]
"""
BROKEN = ["[packs.a\n", "[packs.a]\nsettings = 5\n", '[packs.a.settings]\nturn = "x"\n', "\xff\xfe"]
CALLERS = 4


@dataclass
class Held:
    """What the process holds."""

    memory: int
    threads: int
    descriptors: int


def held(process: int) -> Held:
    of = psutil.Process(process)
    return Held(of.memory_info().rss, of.num_threads(), of.num_fds())


def settings(turn: int) -> str:
    """One pack changes each time, one comes and goes, one stays and is shown in part."""
    gone = "" if turn % 2 else "[packs.c]\n"
    hides = '["plain"]' if turn % 3 == 0 else "[]"
    return f"[packs.a.settings]\nturn = {turn}\n[packs.b]\nexclude = {hides}\n{gone}"


def names(turn: int) -> list[str]:
    shown = ["a_turn", "a_plain", "b_turn", *(["b_plain"] if turn % 3 else [])]
    return shown + ([] if turn % 2 else ["c_turn", "c_plain"])


async def call_on(client: StdioClient, tool: str, seen: list[int]) -> None:
    """Call until cancelled; a call that fails ends the test."""
    while True:
        seen.append(await client.value(tool))


async def reload(home: Home, text: str, encoding: str = "utf-8") -> Any:
    draft: Path = home.project / "draft.toml"
    draft.write_bytes(text.encode(encoding))
    draft.replace(home.project / "host.toml")
    (process,) = await asyncio.to_thread(ask, "reload")
    return process["hosts"][0]


@pytest.mark.parametrize(
    ("reloads", "warm_up"), [(4, 1), pytest.param(100, 20, marks=pytest.mark.torture)]
)
async def test_no_call_is_lost_no_list_is_stale_and_nothing_grows(
    home: Home, monkeypatch: pytest.MonkeyPatch, reloads: int, warm_up: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home.environment()["XDG_CACHE_HOME"])
    for name in "abc":
        home.add_pack(name, PACK)
    home.write(settings(1), "host.toml")
    async with home.stdio("--config", "host.toml", "--log-level", "error") as client:
        await client.value("a_turn")  # it serves, and can be asked
        # What is rare goes through the SDK, which is loaded before its memory is looked at.
        await client.request("logging/setLevel", {"level": "error"})
        seen: dict[str, list[int]] = {tool: [] for tool in ("a_turn", "a_plain", "b_turn")}
        calls = [
            asyncio.create_task(call_on(client, tool, turns))
            for tool, turns in seen.items()
            for _ in range(CALLERS)
        ]
        before = None
        for turn in range(2, reloads + 2):
            told = await reload(home, settings(turn))
            assert told["reloaded"], told
            assert await client.value("a_turn") == turn
            assert [tool["name"] for tool in await client.tools()] == names(turn)
            broken = await reload(home, BROKEN[turn % len(BROKEN)], "latin-1")
            assert not broken["reloaded"]
            assert [tool["name"] for tool in await client.tools()] == names(turn)
            if turn == warm_up + 1:
                before = held(client.process.pid)
        after = held(client.process.pid)
        for call in calls:
            assert not call.done(), call.exception()
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

        print(f"{sum(map(len, seen.values()))} calls, {before} before, {after} after")
        assert before is not None
        assert set(seen["a_turn"]) <= set(range(1, reloads + 2))
        assert after.descriptors <= before.descriptors + 8
        assert after.threads <= before.threads + 8
        assert after.memory <= before.memory + 12 * 2**20
        assert len(await client.notified("notifications/tools/list_changed")) >= max(
            1, reloads // 2 - 3
        )
