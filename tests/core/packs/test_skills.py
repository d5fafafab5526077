"""The skills that a pack ships are found without opening it."""

import sys
from pathlib import Path

import pytest
from core_home import Hosting

pytestmark = pytest.mark.anyio

PACK = """
from contextlib import asynccontextmanager

from mcp_host import hookimpl, tool


@tool
def hello() -> str:
    "Hello."
    return "hello"


@hookimpl
def mcp_host_tools():
    return [hello]


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    raise RuntimeError("it was opened")
    yield
"""
SKILLED = {"skilled": "skilled_pack.plugin"}


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pack's skills."""
    package = tmp_path / "skilled_pack"
    folder = package / "skills"
    folder.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("skilled_pack", "skilled_pack.plugin"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def write(skills: Path, name: str, text: str) -> None:
    (skills / name).mkdir()
    (skills / name / "SKILL.md").write_text(text)


async def test_skills_are_found_although_the_pack_cannot_be_opened(
    hosted: Hosting, skills: Path
) -> None:
    text = "---\nname: plan-a-trip\ndescription: >-\n  Plan a trip:\n  by the weather.\n---\nAsk.\n"
    write(skills, "plan-a-trip", text)
    write(skills, "pack", "---\nname: pack\nlicense: MIT\ndescription: 'Pack a bag.'\n---\n")

    async with hosted(SKILLED) as host:
        pack = host.host.packs["skilled"]
        assert pack.condition.state == "failed"
        assert pack.declared is not None
        one, other = pack.declared.skills.skills
        assert (one.name, one.description) == ("pack", "Pack a bag.")
        assert (other.name, other.description) == ("plan-a-trip", "Plan a trip: by the weather.")
        assert other.text == text
        about = next(one for one in host.host.report() if one["name"] == "skilled")
        assert about["skills"] == ["pack", "plan-a-trip"]


async def test_a_skill_that_cannot_be_read_is_passed_over_with_a_word(
    hosted: Hosting, skills: Path
) -> None:
    (skills / "empty").mkdir()
    (skills / "__pycache__").mkdir()
    (skills / "readme.txt").write_text("no skill")
    write(skills, "plain", "no keys")
    write(skills, "open", "---\nname: open\n")
    write(skills, "other", "---\nname: another\ndescription: x\n---\n")
    write(skills, "Bad_Name", "---\nname: Bad_Name\ndescription: x\n---\n")
    write(skills, "silent", "---\nname: silent\n---\n")
    write(skills, "large", "---\nname: large\ndescription: x\n---\n" + "x" * 300_000)
    write(skills, "good", "---\nname: good\ndescription: x\n---\n")

    async with hosted(SKILLED) as host:
        pack = host.host.packs["skilled"]
        assert pack.declared is not None
        assert [skill.name for skill in pack.declared.skills.skills] == ["good"]
        warnings = "\n".join(host.host.inventory.warnings)

    for words in (
        "the skill empty is passed over: it must have a file SKILL.md",
        "plain is passed over: SKILL.md must begin with ---",
        "open is passed over: SKILL.md must have a second line of ---",
        "other is passed over: name in SKILL.md must be other",
        "Bad_Name is passed over: its folder's name must be of a-z",
        "silent is passed over: description in SKILL.md must have 1 to 1024",
        "large is passed over: SKILL.md must have at most",
    ):
        assert words in warnings


async def test_a_pack_of_one_module_has_no_skills(
    hosted: Hosting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "single_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "skills").mkdir()
    write(tmp_path / "skills", "foreign", "---\nname: foreign\ndescription: x\n---\n")

    async with hosted({"single": "single_pack"}) as host:
        declared = host.host.packs["single"].declared
        assert declared is not None
        assert declared.skills.skills == ()
