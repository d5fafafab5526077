"""The JSON of the wire page is what a real server sends."""

import asyncio
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from docs_pages import DOCS, Block, blocks
from mcp_host.testing import http_server, stdio_client

PAGE = DOCS / "reference" / "wire.md"
SAMPLES = [block for block in blocks(PAGE) if block.note.startswith("wire: ")]
pytestmark = pytest.mark.anyio


def fits(shown: Any, real: Any) -> bool:
    """Whether a value is the shown one, where `…` stands for any text."""
    if shown == "…":
        return isinstance(real, str) and bool(real)
    if isinstance(shown, dict) and isinstance(real, dict):
        return shown.keys() == real.keys() and all(fits(shown[k], real[k]) for k in shown)
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(map(fits, shown, real))
    return bool(shown == real)


def handshake(url: str) -> Any:
    """What a server without sessions answers to `initialize`."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    params["clientInfo"] = {"name": "test", "version": "0"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accept = "application/json, text/event-stream"
    headers = {"Content-Type": "application/json", "Accept": accept}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read().decode()
    return json.loads(text.partition("data: ")[2])["result"]


def server(folder: Path) -> tuple[list[str], dict[str, str]]:
    settings = folder / "mcp-host.toml"
    settings.write_text("[packs.todo_db]\n")
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    command = [sys.executable, "-m", "mcp_host", "serve", "--config", str(settings)]
    return command, {name: str(folder / name.lower()) for name in names}


@pytest.mark.parametrize("block", SAMPLES, ids=lambda block: block.where)
async def test_an_answer_is_the_shown_one(block: Block, tmp_path: Path) -> None:
    protocol, method, params = block.note.removeprefix("wire: ").split(" ", 2)
    command, environment = server(tmp_path)
    async with stdio_client(command, protocol=protocol, environment=environment) as client:
        answer = await client.raw_request(method, json.loads(params))

    real = answer.get("result") or answer["error"]
    assert fits(json.loads(block.text), real), json.dumps(real, indent=2)


async def test_the_handshake_promises_what_the_page_shows(tmp_path: Path) -> None:
    shown = next(block for block in blocks(PAGE) if block.language == "json")
    command, environment = server(tmp_path)
    async with stdio_client(command, environment=environment) as client:
        assert client.initialized["capabilities"] == json.loads(shown.text)


async def test_a_server_without_sessions_promises_nothing_that_cannot_come(tmp_path: Path) -> None:
    command, environment = server(tmp_path)
    (tmp_path / "mcp-host.toml").write_text("[http]\nstateless = true\n[packs.todo_db]\n")
    listening = [*command, "--transport", "http", "--port", "0"]
    async with http_server(listening, environment=environment) as served:
        promised = (await asyncio.to_thread(handshake, served.url))["capabilities"]

    assert "logging" not in promised
    assert promised["resources"] == {"listChanged": False, "subscribe": False}
    assert promised["tools"] == promised["prompts"] == {"listChanged": False}
