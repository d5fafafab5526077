"""Which packs are found among what is installed."""

from pathlib import Path

import pytest
from mcp_host.packs.declared import Offer
from mcp_host.packs.discovery import discover


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python imports from before all others."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(folder: Path, points: str | bytes, name: str = "made", version: str = "1") -> Path:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: of a description\n"
    )
    text = points if isinstance(points, bytes) else points.encode()
    (info / "entry_points.txt").write_bytes(text)
    return info


def test_a_pack_is_offered_by_its_distribution_in_its_version(path: Path) -> None:
    install(path, "[console_scripts]\nx = y:z\n\n[mcp_host.packs]\na = pack.a\nb = pack.b:plugin\n")

    assert discover({"a", "b"}) == {
        "a": [Offer("a", "pack.a", "made", "1")],
        "b": [Offer("b", "pack.b:plugin", "made", "1")],
    }


def test_of_two_copies_on_the_path_the_one_that_is_imported_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(path / "older", "[mcp_host.packs]\na = pack.a\ngone = pack.gone\n")
    install(path / "newer", "[mcp_host.packs]\na = pack.new\n", version="2")
    for folder in ("older", "newer"):
        monkeypatch.syspath_prepend(path / folder)

    assert discover({"a", "gone"}) == {"a": [Offer("a", "pack.new", "made", "2")]}


@pytest.mark.parametrize("damage", ["no metadata", "no name", "no text"])
def test_a_damaged_distribution_is_passed_over_and_hides_no_other(
    path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    broken = b"[mcp_host.packs]\na = pack.\xff" if damage == "no text" else "[mcp_host.packs]\na=b"
    info = install(path, broken, name="broken")
    install(path, "[mcp_host.packs]\nwhole = pack.whole\n")
    if damage == "no metadata":
        (info / "METADATA").unlink()
    elif damage == "no name":
        (info / "METADATA").write_text("Metadata-Version: 2.1\nVersion: 1\n")

    found = discover({"a", "whole"})

    assert found["whole"] == [Offer("whole", "pack.whole", "made", "1")]
    assert not found.get("a")
    assert "cannot be read" in caplog.text
