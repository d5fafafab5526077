"""Usual calls on stdio need no SDK, which is there when something unusual comes."""

import json
from typing import Any

import pytest
from core_home import Home

PACK = '''
import sys

from mcp_host import hookimpl, tool


@tool
def loaded() -> bool:
    """Tell whether the SDK is loaded."""
    return "mcp.server" in sys.modules


@hookimpl
def mcp_host_tools():
    return [loaded]
'''
INFO = {"name": "t", "version": "1"}
OPENING: list[dict[str, Any]] = [
    {
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO},
    },
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list"},
]
USUAL = {"id": 2, "method": "tools/call", "params": {"name": "probe_loaded"}}
UNUSUAL = {"id": 3, "method": "tools/call", "params": {"name": "probe_unknown"}}


def answers(home: Home, *frames: dict[str, Any], **env: str) -> dict[Any, Any]:
    """What a server answers that is sent these frames and then the end of input, by id."""
    sent = "".join(json.dumps({"jsonrpc": "2.0", **frame}) + "\n" for frame in frames)
    done = home.run("serve", "--config", "mcp-host.toml", stdin=sent, env=env)
    assert done.code == 0, done.err
    return {told["id"]: told for told in map(json.loads, done.out.splitlines()) if "id" in told}


@pytest.fixture
def probed(home: Home) -> Home:
    home.add_pack("probe", PACK)
    home.write("[packs.probe]\nenabled = true\n")
    return home


def _is_loaded(answer: Any) -> bool:
    return bool(answer["result"]["structuredContent"]["result"])


@pytest.mark.parametrize("start", ["first", "with a saved catalogue"])
def test_the_first_list_and_the_first_call_need_no_sdk(probed: Home, start: str) -> None:
    if start != "first":
        answers(probed, *OPENING, USUAL)

    told = answers(probed, *OPENING, USUAL)

    assert [tool["name"] for tool in told[1]["result"]["tools"]] == ["probe_loaded"]
    assert not _is_loaded(told[2])


def test_what_is_unusual_is_answered_by_the_sdk_and_calls_after_it_wait_for_neither(
    probed: Home,
) -> None:
    told = answers(probed, *OPENING, UNUSUAL, USUAL)

    assert told[3]["error"]["message"] == "Unknown tool: probe_unknown"
    assert not _is_loaded(told[2])


def test_with_the_lane_off_the_sdk_is_loaded_before_the_first_call(probed: Home) -> None:
    assert _is_loaded(answers(probed, *OPENING, USUAL, MCP_HOST_LANE="0")[2])
