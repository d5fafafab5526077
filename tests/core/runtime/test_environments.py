"""A pack in an environment of its own: what it needs there, and what it does not see."""

import sys
import sysconfig
import tomllib
import venv
from importlib import import_module
from pathlib import Path

import pytest
from mcp_host.packs.children.entry import LEAST
from mcp_host.testing import hosted

pytestmark = pytest.mark.anyio

NEEDED = (
    *("pydantic", "pydantic_core", "pluggy"),
    *("annotated_types", "typing_extensions", "typing_inspection"),
)
PACK = """
import importlib.util
import sys

import clashing
from mcp_host import hookimpl, tool


@tool(read_only=True)
def version() -> str:
    "Return the version of a library."
    return clashing.VERSION


@tool(read_only=True)
def seen(name: str) -> bool:
    "Return whether a module can be imported."
    return importlib.util.find_spec(name) is not None


@tool(read_only=True)
def prefix() -> str:
    "Return the environment."
    return sys.prefix


@tool(read_only=True)
def loaded(name: str) -> bool:
    "Return whether a module was imported."
    return name in sys.modules


@hookimpl
def mcp_host_tools():
    return [version, seen, prefix, loaded]
"""


def environment(folder: Path, *modules: str) -> Path:
    """Make a virtual environment with these modules of the test's; its site-packages."""
    venv.create(folder, symlinks=True)
    place = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for name in modules:
        there = Path(str(import_module(name).__file__))
        source = there.parent if there.name == "__init__.py" else there
        (place / source.name).symlink_to(source)
    return place


def install(place: Path, name: str, version: str) -> None:
    """Install the pack, and a version of the library that it uses."""
    (place / "clashing.py").write_text(f"VERSION = {version!r}")
    (place / f"{name}_pack.py").write_text(PACK)
    info = place / f"{name}_pack-3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-pack\nVersion: 3.0\n")
    (info / "entry_points.txt").write_text(f"[mcp_host.packs]\n{name} = {name}_pack\n")


async def test_a_pack_with_an_old_sdk_serves_beside_a_host_that_has_loaded_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = environment(tmp_path / "env", *NEEDED)
    install(place, "new", "2.0")
    (place / "mcp.py").write_text("VERSION = '0.9'")
    (place / "new_pack.py").write_text(PACK.replace("clashing", "mcp"))
    tables = {"packs": {"new": {"python": "env/bin/python"}}}

    async with hosted({"new": ""}, tables, root=tmp_path) as host:
        mcp = import_module("mcp")

        assert await host.value("new_version") == "0.9"
        assert not hasattr(mcp, "VERSION")


async def test_an_environment_with_too_old_a_library_is_refused_with_the_cure(
    tmp_path: Path,
) -> None:
    place = environment(tmp_path / "env", *(name for name in NEEDED if name != "pydantic"))
    (place / "pydantic.py").write_text("VERSION = '2.10.6'")
    install(place, "new", "2.0")
    tables = {"packs": {"new": {"python": "env/bin/python"}}}

    async with hosted({"new": ""}, tables, root=tmp_path) as host:
        condition = host.host.packs["new"].condition

    assert condition.code == "environment_unfit"
    assert "pydantic must be 2.12 or later, not 2.10.6" in condition.reason
    assert "pydantic>=2.12 and pluggy>=1.7" in condition.remedy


def test_what_an_environment_must_have_is_what_the_host_needs() -> None:
    about = tomllib.loads((Path(__file__).parents[3] / "core" / "pyproject.toml").read_text())

    for name, version in LEAST.items():
        assert f"{name}>={'.'.join(map(str, version))}" in about["project"]["dependencies"]


async def test_packs_that_need_two_versions_of_a_library_serve_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    install(here, "old", "1.0")
    monkeypatch.syspath_prepend(here)
    install(environment(tmp_path / "env", *NEEDED), "new", "2.0")
    tables = {"packs": {"new": {"python": "env/bin/python"}}}
    packs = {"old": "old_pack", "new": "is found over there"}

    async with hosted(packs, tables, root=tmp_path) as host:
        assert [pack["state"] for pack in host.host.report()] == ["ready", "ready"]
        assert await host.value("old_version") == "1.0"
        assert await host.value("new_version") == "2.0"
        assert await host.value("new_prefix") == str(tmp_path / "env")
        for name in ("mcp", "anyio", "tomlkit", "importlib_metadata", "old_pack"):
            assert not await host.value("new_seen", name=name)
        for name in ("importlib.metadata", "difflib", "tomllib"):  # 2 MiB of every such child
            assert not await host.value("new_loaded", name=name)
        (report,) = (pack for pack in host.host.report() if pack["name"] == "new")
        assert (report["distribution"], report["version"]) == ("new-pack", "3.0")
    monkeypatch.delitem(sys.modules, "clashing")


@pytest.mark.parametrize(
    ("modules", "python", "code", "reason"),
    [
        ((), "env/bin/python", "environment_unfit", "No module named 'pydantic'"),
        (NEEDED, "env/bin/python", "not_installed", "offers a pack 'new'"),
        ((), "env/bin/not-there", "process_failed", "must name an interpreter"),
    ],
)
async def test_an_environment_that_lacks_something_is_named(
    tmp_path: Path, modules: tuple[str, ...], python: str, code: str, reason: str
) -> None:
    environment(tmp_path / "env", *modules)
    tables = {"packs": {"new": {"python": python}}}

    async with hosted({"new": ""}, tables, root=tmp_path) as host:
        condition = host.host.packs["new"].condition

    assert (condition.state, condition.code) == ("failed", code)
    assert reason in condition.reason
    assert condition.remedy
