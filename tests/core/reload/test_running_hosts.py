"""A host that runs hears of its changed settings file, and its clients of what that changes."""

import asyncio
import json
import signal

import pytest
from core_home import Home
from core_web import Web, frames
from mcp_host.testing import StdioClient

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PACK = """
from mcp_host import hookimpl, tool


@tool(read_only=True)
def say() -> str:
    "Say hello."
    return "hello"


@hookimpl
def mcp_host_tools():
    return [say]
"""
BOTH = "[packs.one]\n[packs.two]\n"


@pytest.fixture
def talking(home: Home) -> Home:
    for name in ("one", "two"):
        home.add_pack(name, PACK)
    home.write("[packs.one]\n", "host.toml")
    return home


def rewrite(home: Home, text: str) -> None:
    """Write the settings file anew, as an editor does."""
    draft = home.write(text, "draft.toml")
    draft.replace(home.project / "host.toml")


async def command(home: Home, *arguments: str) -> tuple[int, str]:
    """Run a command while the test's own clients go on."""
    done = await asyncio.to_thread(home.run, *arguments)
    return done.code, done.out + done.err


async def listen(client: StdioClient) -> None:
    """Have a client of the stateless era hear of the lists."""
    wanted = {"notifications": {"toolsListChanged": True}}
    await client.send(client.frame("lists", "subscriptions/listen", wanted))
    await client.notified("notifications/subscriptions/acknowledged")


def names(tools: list[dict[str, object]]) -> list[object]:
    return [tool["name"] for tool in tools]


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_a_command_reloads_and_a_stdio_client_hears_of_it(
    talking: Home, protocol: str
) -> None:
    async with talking.stdio("--config", "host.toml", protocol=protocol) as client:
        assert names(await client.tools()) == ["one_say"]
        if protocol == MODERN:
            await listen(client)
        assert await client.value("one_say") == "hello"

        rewrite(talking, BOTH)
        code, said = await command(talking, "doctor", "--config", "host.toml")
        assert "serves what the file said before it changed; run: mcp-host reload" in said
        code, said = await command(talking, "reload")

        assert (code, said.partition(": ")[2]) == (0, "opened: two\n")
        await client.notified("notifications/tools/list_changed")
        assert names(await client.tools()) == ["one_say", "two_say"]
        assert await client.value("two_say") == "hello"
        _, said = await command(talking, "doctor", "--config", "host.toml")
        assert f"process {client.process.pid} serves what the file says" in said


async def test_clients_over_http_hear_of_a_reload_in_both_eras(talking: Home) -> None:
    wanted = {"notifications": {"toolsListChanged": True}}
    async with talking.http("--config", "host.toml") as server, Web(server.url) as web:
        session = await web.session()
        async with (
            session.listen() as of_session,
            web.stream("subscriptions/listen", **wanted) as news,
        ):
            await anext(news)  # that it listens
            rewrite(talking, BOTH)
            code, _ = await command(talking, "reload")
            async with asyncio.timeout(30):
                told = [await anext(news), await anext(of_session)]
        modern = await web.ask("tools/list")
        legacy = frames((await session.request("tools/list")).text)[-1]

    assert code == 0
    assert [frame["method"] for frame in told] == ["notifications/tools/list_changed"] * 2
    for listed in (modern, legacy):
        assert names(listed["result"]["tools"]) == ["one_say", "two_say"]


async def test_a_broken_file_changes_nothing_and_the_answer_the_log_and_doctor_say_why(
    talking: Home,
) -> None:
    async with talking.stdio("--config", "host.toml") as client:
        await client.value("one_say")
        rewrite(talking, "[packs.one\n")

        code, said = await command(talking, "reload", "--json")
        (process,) = json.loads(said)["processes"]
        assert (code, process["process"]) == (1, client.process.pid)
        assert "is not valid TOML" in process["hosts"][0]["error"]
        assert await client.value("one_say") == "hello"

        rewrite(talking, "[packs.one]\n[packs.two]\nenabled = false\n")
        _, said = await command(talking, "doctor", "--config", "host.toml", "--json")
        (line,) = json.loads(said)["running"]
        assert "the last reload changed nothing" in line
    assert "nothing has changed" in client.stderr


async def test_a_signal_reloads(talking: Home) -> None:
    async with talking.stdio("--config", "host.toml") as client:
        await client.value("one_say")
        rewrite(talking, BOTH)
        client.process.send_signal(signal.SIGUSR1)

        await client.notified("notifications/tools/list_changed")
        assert names(await client.tools()) == ["one_say", "two_say"]


async def test_a_watching_host_reloads_by_itself(talking: Home) -> None:
    async with talking.stdio("--config", "host.toml", "--watch") as client:
        await client.value("one_say")
        rewrite(talking, "[packs.two]\n")

        await client.notified("notifications/tools/list_changed")
        assert names(await client.tools()) == ["two_say"]


async def test_a_project_file_counts_once_it_is_trusted_again(talking: Home) -> None:
    talking.write("[packs.one]\n")
    talking.run("trust", "mcp-host.toml")
    async with talking.stdio() as client:
        await client.value("one_say")
        talking.write(BOTH)

        code, said = await command(talking, "reload")
        assert (code, "mcp-host trust" in said) == (1, True)
        await command(talking, "trust", "mcp-host.toml")
        code, said = await command(talking, "reload")
        assert (code, "opened: two" in said) == (0, True)


async def test_what_a_killed_host_has_left_is_no_host(talking: Home) -> None:
    async with talking.stdio("--config", "host.toml") as client:
        await client.value("one_say")
        left = list((talking.folder / "cache/mcp-host/running").iterdir())
        client.process.kill()
        await client.exited()
        assert len(left) == 1

        code, said = await command(talking, "reload")

        assert (code, said) == (1, "no host is running that can be reloaded\n")
        assert not left[0].exists()


async def test_a_host_that_ends_leaves_nothing(talking: Home) -> None:
    async with talking.stdio("--config", "host.toml") as client:
        await client.value("one_say")
        assert await client.end_input() == 0

    assert list((talking.folder / "cache/mcp-host/running").iterdir()) == []
