"""Packs are imported beside each other and beside the SDK, and slow ones hold nobody up."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

SLOW_SHARE = """
import importlib, time
time.sleep({seconds})
importlib.import_module("mcp.server.lowlevel.server")
from mcp_host import hookimpl, tool

@tool
def ping() -> str:
    "Answer."
    return "pong"

@hookimpl
def mcp_host_tools():
    return [ping]
"""

IN_TURN = """
import sys, threading
from mcp_host.packs import importing

importing.take_turns()
started, done = threading.Event(), threading.Event()

def load():
    started.set()
    importing.imported("mcp_types:Tool")
    done.set()

with importing.turn():
    threading.Thread(target=load, daemon=True).start()
    started.wait()
    import json.tool  # what is not the SDK's waits for nobody
    assert not done.wait(0.3) and "mcp_types" not in sys.modules
    import mcp_types  # whoever has the turn goes on
assert done.wait(30)
"""


def test_while_one_thread_imports_the_sdk_the_others_wait_for_their_turn() -> None:
    done = subprocess.run([sys.executable, "-c", IN_TURN], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def install(folder: Path, sources: dict[str, str]) -> None:
    """Put modules and a distribution that offers each as a pack into a folder."""
    told = folder / "made-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: made\nVersion: 1.0\n")
    points = "".join(f"{name} = {name}\n" for name in sources)
    (told / "entry_points.txt").write_text(f"[mcp_host.packs]\n{points}")
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)


async def test_twenty_packs_that_hang_are_waited_for_once(
    machine: "Machine", tmp_path: Path
) -> None:
    names = [f"hangs_{number}" for number in range(20)]
    install(tmp_path / "made", dict.fromkeys(names, "import threading\nthreading.Event().wait()\n"))
    settings = "[host]\nstart_timeout = 600\n[packs.sample]\n"
    settings += "".join(f"[packs.{name}]\n" for name in names)

    async with machine.serve(settings, packs=("sample", str(tmp_path / "made"))) as client:
        # The client gives up after 30 s; if each were waited for, this would take 20 of them.
        assert (await client.value("sample_echo", text="here"))["text"] == "here"
        tools = (await client.request("tools/list"))["tools"]

    assert {tool["name"].partition("_")[0] for tool in tools} == {"sample"}


@pytest.mark.torture
@pytest.mark.parametrize("seconds", [0.7, 0.78, 0.8, 0.82, 0.85, 0.9, 1.05])
async def test_a_pack_that_imports_the_sdk_while_the_host_does_is_served(
    machine: "Machine", tmp_path: Path, seconds: float
) -> None:
    install(tmp_path / "made", {"slow_share": SLOW_SHARE.format(seconds=seconds)})
    settings = "[packs.sample]\n[packs.slow_share]\n"

    for _ in range(5):
        async with machine.serve(settings, packs=("sample", str(tmp_path / "made"))) as client:
            assert (await client.value("sample_echo", text="here"))["text"] == "here"
            assert await client.value("slow_share_ping") == "pong"
            assert await client.end_input() == 0
