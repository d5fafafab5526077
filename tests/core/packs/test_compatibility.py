"""A pack made for another version of the host is refused before it is imported."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_host.packs.compatibility import fits, host_requirement
from mcp_host.testing import StdioClient
from packaging.specifiers import SpecifierSet

pytestmark = pytest.mark.anyio

PACK = """
from mcp_host import hookimpl, tool

print("imported")


@tool
def hello() -> str:
    "Hello."
    return "hello"


@hookimpl
def mcp_host_tools():
    return [hello]
"""


def install(folder: Path, *requires: str) -> None:
    """Install the pack in a folder of the path."""
    (folder / "made_pack.py").write_text(PACK)
    info = folder / "made_pack-2.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", "Name: made-pack", "Version: 2.0"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "entry_points.txt").write_text("[mcp_host.packs]\nmade = made_pack\n")


@pytest.mark.parametrize("place", ["", 'isolation = "process"\n', f'python = "{sys.executable}"\n'])
def test_a_pack_for_another_host_is_refused_with_a_clear_word(
    machine: Any, tmp_path: Path, place: str
) -> None:
    install(tmp_path, "anyio", "mcp-host[tokens] >=7.1, <8")
    machine.settings(f"[packs.made]\n{place}")

    done = subprocess.run(
        machine.command("packs", "--json"),
        env=machine.environment([tmp_path]),
        capture_output=True,
        text=True,
    )

    (about,) = (one for one in json.loads(done.stdout)["packs"] if one["name"] == "made")
    assert about["code"] == "host_unfit"
    assert about["reason"].startswith(
        "made-pack 2.0 is made for mcp-host >=7.1, <8, and this is mcp-host "
    )
    assert 'pip install --upgrade mcp-host "made-pack"' in about["remedy"]
    assert "imported" not in done.stdout + done.stderr


@pytest.mark.parametrize("requires", ["mcp-host", "mcp-host>=0.1,<1", "mcp_host (>=0.0.1)"])
async def test_a_pack_for_this_host_is_served(machine: Any, tmp_path: Path, requires: str) -> None:
    install(tmp_path, requires)

    client: StdioClient
    async with machine.serve("[packs.made]\n", packs=[tmp_path]) as client:
        assert await client.value("made_hello") == "hello"


CLAUSES = [
    ">=0.1", ">=0.2", "<0.2", "<=0.1.0", ">0.1.0", ">0.1", "==0.1", "==0.1.*", "==0.2.*", "!=0.1.0",
    "!=0.1.*", "~=0.1", "~=0.1.0", "~=0.2.0", ">=0.1,<0.3", ">=0.3, <0.1", "", " >= 0.1 , < 1 ",
]  # fmt: skip


@pytest.mark.parametrize("version", ["0.1.0", "0.1", "0.1.3", "0.2.0", "0.10.1", "1.0.0"])
def test_versions_fit_as_the_installer_has_it(version: str) -> None:
    for clause in CLAUSES:
        assert fits(clause, version) is SpecifierSet(clause).contains(version), clause


def test_what_an_extra_requires_does_not_count_and_what_is_odd_lets_pass() -> None:
    assert host_requirement(["mcp-host>=9; extra == 'x'", "mcp-hosts>=9", "other"]) == ""
    assert host_requirement(["MCP.Host>=0.1"]) == ">=0.1"
    assert fits("===weird", "0.1.0")
    assert not fits(">=0.2", "0.2.0rc1")
    assert not fits("<0.2", "0.2.0rc1")
