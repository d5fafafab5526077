"""A release: what a tag is held against, and the address that goes into the wheels."""

import re
import shutil
import tomllib
from email import message_from_bytes
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tools import picture, publishing, site

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that a release reads and writes, in a folder of their own."""
    for path in [*publishing.manifests(ROOT), *map(ROOT.joinpath, publishing.READMES)]:
        there = tmp_path / path.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0] - 2027-01-01\n")
    return tmp_path


def test_a_tag_of_the_version_that_all_distributions_have_is_released(checkout: Path) -> None:
    assert list(publishing.problems("v0.1.0", checkout)) == []


def test_a_tag_that_does_not_fit_is_refused_with_every_reason(checkout: Path) -> None:
    found = "\n".join(publishing.problems("v1.2.0", checkout))

    for project in ("mcp-host", "mcp-host-tasky", "mcp-host-todo-db"):
        assert f"{project} has the version 0.1.0, not 1.2.0" in found
    assert "mcp-host-tasky needs mcp-host>=0.1.0,<1, which 1.2.0 is not" in found
    assert "CHANGELOG.md must have a heading ## [1.2.0]" in found
    assert list(publishing.problems("release", checkout)) == [
        "the tag must be v and a version, like v0.1.0, not 'release'"
    ]


def test_a_bound_without_an_upper_end_is_refused(checkout: Path) -> None:
    manifest = checkout / "plugins" / "tasky" / "pyproject.toml"
    manifest.write_text(manifest.read_text().replace("mcp-host>=0.1.0,<1", "mcp-host>=0.1.0"))

    assert list(publishing.problems("v0.1.0", checkout)) == [
        "mcp-host-tasky needs mcp-host>=0.1.0, which has no upper bound"
    ]


def test_the_wheel_names_where_it_was_released(checkout: Path) -> None:
    for _ in range(2):  # a second time writes over the first
        publishing.name_address("Some-Body/mcp-host", checkout)
    core = checkout / "core"
    (core / "src" / "mcp_host").mkdir(parents=True)
    (core / "src" / "mcp_host" / "__init__.py").touch()
    shutil.copy(ROOT / "LICENSE", core)
    (built,) = WheelBuilder(str(core)).build(directory=str(checkout / "dist"))
    with ZipFile(built) as wheel:
        (file,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        about = message_from_bytes(wheel.read(file))

    assert set(about.get_all("Project-URL", ())) == {
        "Homepage, https://github.com/Some-Body/mcp-host",
        "Documentation, https://github.com/Some-Body/mcp-host/tree/main/docs",
        "Changelog, https://github.com/Some-Body/mcp-host/blob/main/CHANGELOG.md",
        "Issues, https://github.com/Some-Body/mcp-host/issues",
    }
    assert "<!-- mcp-name: io.github.Some-Body/mcp-host -->\n" in about.get_payload()
    for manifest in publishing.manifests(checkout):
        assert len(tomllib.loads(manifest.read_text())["project"]["urls"]) == 4


def test_what_lies_beside_a_distribution_is_not_published(tmp_path: Path) -> None:
    samples = sorted(ROOT.glob("docs/samples/*/pyproject.toml"))
    for number, manifest in enumerate([*publishing.manifests(ROOT), *samples]):
        folder = tmp_path / str(number)
        for name in ("src/pack.py", "README.md", "LICENSE", "token.txt", "notes.db"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        shutil.copy(manifest, folder)
        published = [file.path for file in SdistBuilder(str(folder)).recurse_included_files()]

        assert "src/pack.py" in {str(Path(path).relative_to(folder)) for path in published}
        assert not [path for path in published if path.endswith((".txt", ".db"))], manifest


@pytest.mark.parametrize("repository", ["", "mcp-host", "a/b/c", "-a/b", "a/$(b)"])
def test_an_address_must_be_an_owner_and_a_name(checkout: Path, repository: str) -> None:
    with pytest.raises(SystemExit, match="must be OWNER/NAME"):
        publishing.name_address(repository, checkout)


def test_the_workflow_holds_no_secret_and_gives_each_job_only_what_it_needs() -> None:
    text = WORKFLOW.read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    trusted = {name for name, job in jobs.items() if "id-token" in job["permissions"]}
    writes = {
        name: {what for what, right in job["permissions"].items() if right == "write"}
        for name, job in jobs.items()
    }

    assert "secrets." not in text
    assert yaml.safe_load(text)["permissions"] == {}
    assert not writes["build"]
    assert all("run" not in step for name in trusted for step in jobs[name]["steps"])
    assert jobs["index"]["environment"] == "release"
    assert {"build", "attest"} <= set(jobs["index"]["needs"])


def test_what_the_workflow_runs_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = WORKFLOW.read_text("utf-8")

    for line in re.findall(r"^ +make (.+)$", text, re.MULTILINE):
        assert all(f"\n{target}:" in makefile for target in line.split())
    assert set(re.findall(r"tools\.publishing (\w+)", text)) == {"check", "address"}


def test_the_site_leads_to_every_page_of_the_index(tmp_path: Path) -> None:
    pages = site.stage(tmp_path, repository=None)
    named = re.findall(r"^(?:docs/\S+|[A-Z]+)$", site.contents(), re.MULTILINE)

    assert {f"{name}.md" for name in named} >= set(pages) - {"README.md"}
    assert "](samples" not in (tmp_path / "docs" / "tutorial" / "first-pack.md").read_text("utf-8")
    assert all((ROOT / target).exists() for target in re.findall(r"\]\((.+?)\)", site.for_models()))


def test_a_link_of_the_site_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="b.html"></a><a href="a.html#there"></a>'
        '<a href="https://example.com/"></a><script src="https://example.com/x.js"></script>'
    )

    assert sorted(site.broken(tmp_path)) == [
        "a.html: a.html#there has no such heading",
        "a.html: b.html is not there",
        "a.html: https://example.com/x.js is loaded from afar",
    ]


def test_the_picture_loads_nothing_and_shows_the_command_of_the_readme() -> None:
    drawn = picture.PICTURE.read_text("utf-8")
    picture_is = ElementTree.fromstring(drawn)  # a picture of this repository

    assert "".join(picture_is.itertext()).replace("\xa0", " ").count("$ mcp-host demo tasky") == 1
    assert not re.search(r"@font-face|@import|xlink:href|(?<!xmlns=)\"https?:", drawn)
    assert "](docs/demo.svg)" in (ROOT / "README.md").read_text("utf-8")


def test_of_a_long_answer_the_picture_shows_the_first_lines() -> None:
    answer = "\n".join(f"  line {number}" for number in range(9))
    before = "$ started\nconnected\n\n── tasky\nskipped"
    text = f"{before}\n{picture.BEGINS}\n→ a\n{answer}\n\n{picture.ENDS}"

    assert [picture.plain(line) for line in picture.part(text)] == [
        "$ mcp-host demo tasky", "connected", "", "── tasky", "", picture.BEGINS, "→ a",
        *(f"  line {number}" for number in range(6)), "  …",
    ]  # fmt: skip
