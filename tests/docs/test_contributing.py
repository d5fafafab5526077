"""The files and names that CONTRIBUTING sends its readers to are there."""

import re
from pathlib import Path

import pytest
from docs_pages import ROOT, sections

PAGE = ROOT / "CONTRIBUTING.md"
CHANGES = sections(PAGE, 3)
CORE, PLUGINS = ROOT / "core" / "src" / "mcp_host", ROOT / "plugins"
WHERE = [
    ROOT,
    CORE,
    CORE / "middleware",
    CORE / "serving" / "transports",
    PLUGINS / "tasky" / "src" / "mcp_host_tasky",
    PLUGINS / "openspec" / "src" / "mcp_host_openspec" / "service" / "rules",
    ROOT / "tests" / "core" / "runtime",
]
SOURCE = "\n".join(
    path.read_text("utf-8")
    for folder in (CORE, *PLUGINS.glob("*/src"), ROOT / "tests")
    for path in folder.rglob("*.py")
)
COMMON = {
    "a middleware",
    "a client for install",
    "a setting",
    "a transport",
    "a field of tasky's tasks",
    "a rule of openspec",
}


def marked(text: str) -> set[str]:
    """What stands in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def test_the_commonest_changes_are_told() -> None:
    assert set(map(str.lower, CHANGES)) == COMMON


@pytest.mark.parametrize("change", CHANGES)
def test_every_file_that_a_change_needs_exists(change: str) -> None:
    files = {
        name for name in marked(CHANGES[change]) if re.fullmatch(r"[\w./]+(\.(py|md|toml)|/)", name)
    }
    known = {name for name in files if any((folder / name).exists() for folder in WHERE)}

    assert {name for name in files - known if "NAME" not in Path(name).name} == set()
    assert known


@pytest.mark.parametrize("change", CHANGES)
def test_every_name_that_a_change_speaks_of_is_in_the_source(change: str) -> None:
    names = {
        name
        for name in marked(CHANGES[change])
        if re.fullmatch(r"_?[a-z]+(_[a-z0-9]+)+|[A-Z][A-Za-z]+|_?[A-Z]+(_[A-Z]+)+", name)
    }

    assert {name for name in names - {"NAME"} if not re.search(rf"\b{name}\b", SOURCE)} == set()
