"""What is installed is read as `importlib.metadata` reads it."""

import sys
import zipfile
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st
from mcp_host.startup.installed import entry_points, finder, headers

GROUP = "mcp_host.packs"
NAMES = st.text("abzAZ019_-.", min_size=1, max_size=8).filter(lambda name: name.strip("-_."))
VALUES = st.from_regex(r"[a-z_]{1,5}(\.[a-z_]{1,5})?(:[a-z_]{1,5})?", fullmatch=True)
LINES = st.one_of(
    st.just(""),
    st.just("# a = comment"),
    st.sampled_from([f"[{GROUP}]", "[console_scripts]", "[mcp_host.packs.more]"]),
    st.builds("{} = {}".format, NAMES, VALUES),
    st.builds("  {}={}  ".format, NAMES, VALUES),
)


@given(st.lists(LINES, max_size=12))
def test_entry_points_are_those_that_the_standard_library_reads(lines: list[str]) -> None:
    text = "\n".join([f"[{GROUP}]", *lines])
    with TemporaryDirectory() as folder:
        info = Path(folder, "made-1.dist-info")
        info.mkdir()
        (info / "entry_points.txt").write_text(text)
        distribution = metadata.PathDistribution(info)
        expected = {
            point.name: point.value for point in distribution.entry_points.select(group=GROUP)
        }

        assert entry_points(distribution, GROUP) == expected


def test_the_same_distributions_are_found_in_the_same_order() -> None:
    theirs = [(each.metadata["Name"], each.version) for each in metadata.distributions()]
    ours = [headers(each) for each in finder().distributions()]

    assert [(each["Name"][0], each["Version"][0]) for each in ours] == theirs


@pytest.mark.parametrize("name", ["pydantic-core", "Pydantic_Core", "mcp-host"])
def test_a_distribution_is_found_however_its_name_is_written(name: str) -> None:
    assert headers(finder().distribution(name))["Version"] == [metadata.version(name)]


def test_a_distribution_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="no distribution nowhere is installed"):
        finder().distribution("nowhere")


def test_a_pack_in_an_archive_on_the_path_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "packs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped-1.dist-info/METADATA", "Name: zipped\nVersion: 1\n")
        file.writestr("zipped-1.dist-info/entry_points.txt", f"[{GROUP}]\nzipped = zipped.pack\n")
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])

    found = [entry_points(each, GROUP) for each in finder().distributions()]

    assert {"zipped": "zipped.pack"} in found
