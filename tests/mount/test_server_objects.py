"""`server = "./file.py:object"`: what is taken for a server, and what is said of anything else."""

from pathlib import Path

import pytest
from mcp_host.testing import Person, hosted

LOW = """
import threading

from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def tools(context, params):
    return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])


async def call(context, params):
    text = params.arguments["words"]
    if text == "threads":
        text = str(threading.active_count())
    if text.endswith("?"):
        asked = await context.session.elicit_form(text, {"type": "object", "properties": {}})
        text = asked.action
    return CallToolResult(content=[TextContent(type="text", text=text)])


async def made():
    return Server("low", version="2.5", on_list_tools=tools, on_call_tool=call)
"""
WRONG = """
def numbers():
    return [1, 2]
"""


async def test_a_server_of_the_sdk_is_mounted_and_what_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "low.py").write_text(LOW)
    (tmp_path / "wrong.py").write_text(WRONG)
    servers = {
        "low": "./low.py:made",
        "numbers": "./wrong.py:numbers",
        "missing": "./wrong.py:mcp",
        "nowhere": "no_such_module:mcp",
    }

    packs = {name: {"server": server} for name, server in servers.items()}
    async with hosted({}, {"packs": packs}, root=tmp_path) as host:
        conditions = {name: host.host.packs[name].condition for name in packs}
        echoed = await host.value("low_echo", words="hello")
        threads = await host.value("low_echo", words="threads")
        long = await host.value("low_echo", words="é" * 300_000)
        refused = await host.error("low_echo", words="sure?")
    async with hosted({}, {"packs": {"low": packs["low"]}}, root=tmp_path) as host:
        person = Person()
        asked = await host.seen_by(person=person).value("low_echo", words="sure?")

    assert (refused["code"], refused["details"]["reason"]) == ("unsupported", "asks_as_before")
    assert asked == "accept"  # a server of both eras is spoken with in that which it asks in
    assert person.asked[0]["params"]["message"] == "low: sure?"
    assert echoed == "hello"
    assert str(threads) == "1"  # else the SDK's module uses `anyio` for its streams in another way
    assert long == "é" * 300_000  # more than a pipe takes at once
    assert "must be a server of FastMCP or of the MCP SDK" in conditions["numbers"].reason
    assert "not list" in conditions["numbers"].reason
    assert "wrong.py has no mcp; it has numbers" in conditions["missing"].reason
    assert "a file is named as ./no_such_module.py" in conditions["nowhere"].reason
    assert conditions["nowhere"].remedy == "see to server in [packs.nowhere]"
