"""A pack knows which of its resources clients watch, in both eras and in threads or a process."""

import asyncio

import pytest
from core_home import Home
from mcp_host.testing import StdioClient

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PACK = """
from contextlib import asynccontextmanager

from mcp_host import hookimpl, resource, tool


@resource("look://{name}")
def thing(name: str) -> str:
    return name


@tool(read_only=True)
def watched(service: object, /) -> list[str]:
    "Say what is watched."
    return sorted(service.watched)


@tool
def touch(service: object, /, names: list[str]) -> None:
    "Say of things that they changed."
    for name in names:
        service.changed(f"look://{name}")


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    yield pack


@hookimpl
def mcp_host_tools():
    return [watched, touch]


@hookimpl
def mcp_host_resources():
    return [thing]
"""


async def until(client: StdioClient, *uris: str) -> None:
    """Wait until the pack knows that these are watched, and no others."""
    async with asyncio.timeout(30):
        while (found := await client.value("look_watched")) != list(uris):
            assert set(found) <= {"look://a", "look://b"}


async def watch(client: StdioClient, protocol: str, uri: str) -> None:
    if protocol == LEGACY:
        await client.request("resources/subscribe", {"uri": uri})
        return
    wanted = {"notifications": {"resourceSubscriptions": [uri]}}
    await client.send(client.frame(uri, "subscriptions/listen", wanted))


async def leave(client: StdioClient, protocol: str, uri: str) -> None:
    if protocol == LEGACY:
        await client.request("resources/unsubscribe", {"uri": uri})
        return
    ended = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": uri}}
    await client.send(ended)


@pytest.mark.parametrize("isolation", ["thread", "process"])
@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_a_pack_knows_what_is_watched_from_the_first_to_the_last(
    home: Home, protocol: str, isolation: str
) -> None:
    home.add_pack("look", PACK)
    home.write(f'[packs.look]\nisolation = "{isolation}"\n[packs.desk]\n')
    async with home.stdio("--config", "mcp-host.toml", protocol=protocol) as client:
        await until(client)
        await watch(client, protocol, "look://a")
        await watch(client, protocol, "desk://papers/tax")
        await until(client, "look://a")
        await watch(client, protocol, "look://b")
        await until(client, "look://a", "look://b")
        await leave(client, protocol, "look://a")
        await until(client, "look://b")
        await leave(client, protocol, "look://b")
        await until(client)


@pytest.mark.parametrize("isolation", ["thread", "process"])
@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_a_client_hears_of_what_it_watches_among_much_that_nobody_does(
    home: Home, protocol: str, isolation: str
) -> None:
    home.add_pack("look", PACK)
    home.write(f'[packs.look]\nisolation = "{isolation}"\n')
    others = [f"other{number}" for number in range(100)]
    async with home.stdio("--config", "mcp-host.toml", protocol=protocol) as client:
        await client.call("look_touch", names=["a", *others])
        await watch(client, protocol, "look://a")
        await until(client, "look://a")
        for number in range(1, 4):
            await client.call("look_touch", names=[*others, "a", *others])
            told = await client.notified("notifications/resources/updated", number)

    assert [notice["params"]["uri"] for notice in told] == 3 * ["look://a"]
