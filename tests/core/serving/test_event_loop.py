"""The host serves on uvloop where that is installed, and on asyncio's own loop where it is not."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from core_home import Home
from core_web import Web
from mcp_host.serving.event_loop import VARIABLE, new_event_loop

if TYPE_CHECKING:
    from conftest import Machine

pytest.importorskip("uvloop")
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("value", "is_asyncios"), [("0", True), ("1", False)])
def test_a_variable_says_whether_uvloop_is_used(
    value: str, is_asyncios: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    loop = new_event_loop()
    loop.close()

    assert isinstance(loop, asyncio.SelectorEventLoop) == is_asyncios


def test_without_uvloop_the_loop_is_asyncios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    loop.close()

    assert isinstance(loop, asyncio.SelectorEventLoop)


def test_the_pipes_of_uvloop_have_no_low_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    before = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    loop = new_event_loop()
    new = {int(path.name) for path in Path("/proc/self/fd").iterdir()} - before
    loop.close()

    assert any(number >= 256 for number in new)
    assert not any(number < 256 and Path(f"/proc/self/fd/{number}").exists() for number in new)


async def test_a_pack_that_writes_to_low_descriptors_does_not_crash_uvloop(
    machine: "Machine", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    async with machine.serve("[packs.sample]\n[packs.process]\n") as client:
        await client.value("process_guess")

        for text in ("one", "two"):
            assert (await client.value("sample_echo", text=text))["text"] == text
        assert await client.end_input() == 0


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_stdio_on_uvloop_answers_and_ends_by_a_signal(
    machine: "Machine", protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    async with machine.serve(protocol=protocol) as client:
        said = await client.value("sample_echo", text="x")
        await client.request("resources/list")

        assert await client.signal(signal.SIGTERM) == 0
    assert said["text"] == "x"


def test_stdio_on_uvloop_reads_a_file(
    machine: "Machine", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}}
    opening["clientInfo"] = {"name": "t", "version": "1"}
    call = {"name": "sample_echo", "arguments": {"text": "from a file"}}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps(frame) + "\n" for frame in frames))
    with lines.open() as source:
        ran = subprocess.run(
            machine.settings("[packs.sample]\n"),
            stdin=source,
            capture_output=True,
            env=machine.environment(),
            check=True,
            timeout=120,
        )

    assert b"from a file" in ran.stdout.splitlines()[-1]


async def test_http_on_uvloop_answers_both_eras_and_ends_by_a_signal(home: Home) -> None:
    home.write("[packs.desk]\n")
    options = ("--config", "mcp-host.toml")
    async with home.http(*options, env={VARIABLE: "1"}) as server, Web(server.url) as web:
        alone = await web.value("desk_greet", name="Ann")
        session = await web.session()
        within = (await session.call("desk_greet", name="Ann"))["result"]["content"][0]["text"]
        async with session.stream("tools/call", name="desk_note", arguments={"text": "t"}) as said:
            streamed = [frame async for frame in said]
        server.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            code = await server.process.wait()

    assert code == 0
    assert alone == within == "Hello Ann."
    assert streamed[-1]["result"]["content"][0]["text"] == "t (None)"
