"""What validation found in a whole tree, kept: said again only while all it is made from is so."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp_host_openspec.model.findings import Report
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.storage.kept import Kept

Validate = Callable[[], list[Report]]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def validate(shop: Path, cache: Path) -> Validate:
    """Validates the whole tree as the first question of a session."""

    def validate() -> list[Report]:
        openspec = OpenSpec(Root(shop, "configured"), kept=Kept(str(cache)))
        while openspec.tree.whole_state() is None:  # written just now
            time.sleep(0.01)
        return openspec.validate_all()

    return validate


def falsify(cache: Path) -> None:
    """Give every kept report another name, by which it is known when it is said."""
    for path in cache.iterdir():
        head, body = path.read_bytes().split(b"\n", 1)
        reports = [["kept", *report[1:]] for report in json.loads(body)]
        path.write_bytes(head + b"\n" + json.dumps(reports).encode())


def names(reports: list[Report]) -> set[str]:
    return {report.id for report in reports}


def test_another_session_says_the_same_from_what_was_kept(
    validate: Validate, shop: Path, cache: Path
) -> None:
    (shop / "openspec/changes/add-lockout/specs/auth/spec.md").write_text("## ADDED Requirements\n")
    (shop / "openspec/changes/add-lockout/proposal.md").unlink()
    first = validate()
    assert any(report.findings for report in first) and any(report.notes for report in first)
    assert validate() == first
    (kept,) = cache.iterdir()
    assert kept.stat().st_mode & 0o077 == 0 and cache.stat().st_mode & 0o077 == 0
    falsify(cache)
    assert names(validate()) == {"kept"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: (tree / "specs/fresh").mkdir(),
        lambda tree: (tree / "config.yaml").unlink(),
        lambda tree: (tree / "changes/archive/2026-01-01-x").mkdir(),
        lambda tree: (tree / "changes/add-lockout/notes.md").symlink_to(tree),
    ],
)
def test_any_edit_is_seen(
    validate: Validate, shop: Path, cache: Path, edit: Callable[[Path], object]
) -> None:
    validate()
    falsify(cache)
    edit(shop / "openspec")
    openspec = OpenSpec(Root(shop, "configured"), kept=Kept(str(cache)))
    assert "auth" in names(openspec.validate_all())


def test_an_edit_of_the_same_size_and_time_is_seen(
    validate: Validate, shop: Path, cache: Path
) -> None:
    validate()
    falsify(cache)
    spec = shop / "openspec/specs/auth/spec.md"
    status = spec.stat()
    spec.write_text(spec.read_text().replace("SHALL", "MIGHT"))
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))
    (found,) = [report for report in validate() if report.id == "auth"]
    assert found.findings


def test_what_is_damaged_is_worked_out(validate: Validate, cache: Path) -> None:
    first = validate()
    (kept,) = cache.iterdir()
    for damaged in (
        b"",
        b"\xff",
        b"openspec reports 1\n[[1]]",
        b"openspec reports 1\n[",
        b"other\n",
    ):
        kept.write_bytes(damaged)
        assert validate() == first


def test_a_tree_that_may_be_edited_while_it_is_validated_is_not_kept(
    shop: Path, cache: Path
) -> None:
    later = time.time() + 3600  # nothing tells whether it will be written again
    os.utime(shop / "openspec/specs/auth/spec.md", (later, later))
    OpenSpec(Root(shop, "configured"), kept=Kept(str(cache))).validate_all()
    assert not cache.exists()
