"""The page on stability tells of every kind of thing that is public, and of deprecations."""

import re
import tomllib

from docs_core import CORE
from docs_pages import DOCS, ROOT, links, sections
from mcp_host.packs.compatibility import fits
from mcp_host.packs.deprecations import EVERY
from mcp_host.startup.version import VERSION

PAGE = DOCS / "explanation" / "stability.md"
REFERENCE = DOCS / "reference"


def test_every_page_of_the_reference_is_told_to_be_kept() -> None:
    """The glossary is about words, and promises nothing."""
    told = {(PAGE.parent / link.partition("#")[0]).resolve() for link in links(PAGE)}

    assert set(REFERENCE.glob("*.md")) - told == {REFERENCE / "glossary.md"}


def test_every_deprecation_is_told_and_none_has_outlived_its_version() -> None:
    told = sections(PAGE)["How something goes"]

    assert "`packs/deprecations.py`" in told
    for one in EVERY:
        name = one.what.split("attribute ")[-1].split()[0]
        assert re.search(rf"`{name}`.*\| {one.since} \| {one.removed_in} \|", told)
        assert fits(f"<{one.removed_in}", VERSION), f"{one.what} was to go with {one.removed_in}"


def test_the_distributions_share_one_version() -> None:
    files = [ROOT / "core" / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
    projects = [tomllib.loads(file.read_text("utf-8"))["project"] for file in files]
    (version,) = re.findall(r'^VERSION = "(.*)"$', (CORE / "startup/version.py").read_text(), re.M)

    assert {project.get("version", version) for project in projects} == {version}
    is_to_come = f"This will be {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert is_to_come == (f"{version} is not released yet" in sections(PAGE)["Versions"])
