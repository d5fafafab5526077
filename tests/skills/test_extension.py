"""The extension for skills (SEP-2640), over the packs of this repository and one made here."""

import base64
import hashlib
import sys

import pytest
from mcp_host import Caller
from mcp_host.testing import CallFailed, PackContract, hosted

PACKS = {
    "skills": "mcp_host_skills.plugin",
    "tasky": "mcp_host_tasky.plugin",
    "openspec": "mcp_host_openspec.plugin",
    "cortex": "mcp_host_cortex_tasks.plugin",
    "todo_db": "mcp_host_todo_db.plugin",
}
OURS = {
    "skill://tasky/plan-and-work/SKILL.md",
    "skill://openspec/change-by-spec/SKILL.md",
    "skill://cortex/task-to-merge/SKILL.md",
    "skill://todo_db/keep-a-list/SKILL.md",
}
SKILL = """---
name: plan-a-trip
description: Plan a trip.
license: MIT
metadata:
  since: 2026-01-01
  tags: [a, b]
---
See templates/list.md.
"""
pytestmark = pytest.mark.anyio


class TestContract(PackContract):
    pack = "skills"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture
def travel(tmp_path, monkeypatch):
    """A pack with a skill of several files."""
    package = tmp_path / "code" / "travel_pack"
    folder = package / "skills" / "plan-a-trip"
    (folder / "templates" / "far").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(
        "from mcp_host import hookimpl\n\n@hookimpl\ndef mcp_host_tools():\n    return []\n"
    )
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "templates" / "packing list.md").write_text("socks")
    (folder / "templates" / "far" / "map.png").write_bytes(b"\x89PNG\xff")
    (folder / ".hidden").write_text("x")
    (folder / "secret").symlink_to("/etc/hostname")
    monkeypatch.syspath_prepend(package.parent)
    yield {"skills": "mcp_host_skills.plugin", "travel": "travel_pack.plugin"}
    for name in ("travel_pack", "travel_pack.plugin"):
        sys.modules.pop(name, None)


async def test_each_of_our_packs_ships_a_skill_whose_digests_and_sizes_are_right(tmp_path):
    async with hosted(PACKS, root=tmp_path) as host:
        listed = (await host.method("skills/list"))["skills"]

        assert {entry["uri"] for entry in listed} == OURS
        shown = {one["uri"]: one for one in host.host.visible("resources", Caller())}
        for entry in listed:
            about = entry["frontmatter"]
            assert shown[entry["uri"]] == {
                "uri": entry["uri"],
                "name": about["name"],
                "description": about["description"],
                "mimeType": "text/markdown",
            }
        for file in (file for entry in listed for file in entry["resources"]):
            content = (await host.text(file["uri"])).encode()
            assert len(content) == file["size"]
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" == file["digest"]


@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_a_skill_is_told_with_all_its_files_and_its_front_matter_as_written(
    travel, tmp_path, isolation
):
    async with hosted(travel, root=tmp_path, isolation=isolation) as host:
        uri = "skill://travel/plan-a-trip/SKILL.md"
        entry = (await host.method("skills/get", uri=uri))["skill"]
        assert uri in {one["uri"] for one in host.host.visible("resources", Caller())}

        assert entry["frontmatter"] == {
            "name": "plan-a-trip",
            "description": "Plan a trip.",
            "license": "MIT",
            "metadata": {"since": "2026-01-01", "tags": ["a", "b"]},
        }
        assert [
            file["uri"].removeprefix("skill://travel/plan-a-trip/") for file in entry["resources"]
        ] == ["SKILL.md", "templates/far/map.png", "templates/packing%20list.md"]
        (picture,) = await host.read("skill://travel/plan-a-trip/templates/far/map.png")
        assert (picture["mimeType"], base64.b64decode(picture["blob"])) == (
            "image/png",
            b"\x89PNG\xff",
        )


async def test_a_folder_is_read_one_level_deep_and_a_file_is_none(travel, tmp_path):
    root = "skill://travel/plan-a-trip"
    async with hosted(travel, root=tmp_path) as host:
        top = await host.method("resources/directory/read", uri=root)
        inside = await host.method("resources/directory/read", uri=f"{root}/templates")

        assert [(one["name"], one["mimeType"]) for one in top["resources"]] == [
            ("SKILL.md", "text/markdown"),
            ("templates", "inode/directory"),
        ]
        assert [one["name"] for one in inside["resources"]] == ["far", "packing list.md"]
        for uri in (f"{root}/SKILL.md", f"{root}/none", f"{root}/../..", "skill://none/x", "x"):
            with pytest.raises(CallFailed, match="not a directory"):
                await host.method("resources/directory/read", uri=uri)


async def test_what_is_not_served_is_refused_and_other_peoples_skills_are_not_told(
    travel, tmp_path
):
    async with hosted(travel, root=tmp_path) as host:
        for uri in ("skill://travel/plan-a-trip", "skill://travel/none/SKILL.md"):
            with pytest.raises(CallFailed, match="No skill is served"):
                await host.method("skills/get", uri=uri)
        for path in ("secret", ".hidden", "../../plugin.py", "..%2F..%2Fplugin.py"):
            with pytest.raises(CallFailed):
                await host.read(f"skill://travel/plan-a-trip/{path}")

        other = host.seen_by(Caller(subject="ada", scopes=frozenset({"skills:read"})))
        assert (await other.method("skills/list"))["skills"] == []
        for scopes in ({"skills:read"}, {"travel:read"}):
            caller = Caller(subject="ada", scopes=frozenset(scopes))
            assert "plan-a-trip" not in str(host.host.visible("resources", caller))
        both = Caller(subject="ada", scopes=frozenset({"skills:read", "travel:read"}))
        assert "plan-a-trip" in str(host.host.visible("resources", both))
        with pytest.raises(CallFailed):
            await other.read("skill://travel/plan-a-trip/SKILL.md")
