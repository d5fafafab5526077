"""What the reference tool loses in silence, and what happens to it here (ruling by number)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp_host_openspec.errors import OpenSpecError, RefusedError
from mcp_host_openspec.service import OpenSpec
from mcp_host_openspec.service.archive_plan import Options, Plan
from mcp_host_openspec.service.losses import check_accepted

SCENARIO = "\n#### Scenario: s\n- **WHEN** a\n- **THEN** b\n"
NEW = f"### Requirement: New\nIt SHALL be new.\n{SCENARIO}"
Put = Callable[[dict[str, str | bytes]], Path]
OpenTree = Callable[[Path], OpenSpec]


@pytest.fixture
def archive(shop: Path, open_tree: OpenTree) -> Callable[..., Plan]:
    """Archive a change with this delta for `auth`."""

    def run(delta: str | bytes, **options: object) -> Plan:
        path = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
        path.write_bytes(delta.encode() if isinstance(delta, str) else delta)
        accept = check_accepted(options.pop("accept", ()))  # type: ignore[arg-type]
        wanted = Options(accept=accept, **options)  # type: ignore[arg-type]
        return open_tree(shop).archive("add-lockout", wanted)

    return run


def refused(
    archive: Callable[..., Plan], number: str, delta: str | bytes, **options: object
) -> str:
    """The refusal of an archive, which must name this loss and no other, and change nothing."""
    with pytest.raises(RefusedError) as failed:
        archive(delta, **options)
    assert failed.value.code == "archive_would_lose_text"
    assert {loss["loss"] for loss in failed.value.details["losses"]} == {number}
    assert number in failed.value.suggestions[0]
    return str(failed.value)


def text(shop: Path) -> str:
    return (shop / "openspec/specs/auth/spec.md").read_text()


def test_l1_a_heading_without_its_space_gets_one_and_a_warning(
    archive: Callable[..., Plan], shop: Path
) -> None:
    plan = archive(f"## ADDED Requirements\n\n{NEW.replace('### R', '###R')}")
    assert "\n### Requirement: New\n" in text(shop)
    assert any(warning.startswith("L1 ") for warning in plan.warnings)


def test_l2_an_unclosed_fence_is_refused_unless_accepted(
    archive: Callable[..., Plan], shop: Path
) -> None:
    delta = f"## ADDED Requirements\n\n{NEW}\n```\nopen\n\n## REMOVED Requirements\n"
    message = refused(archive, "L2", delta)
    assert "specs/auth/spec.md" in message
    plan = archive(delta, accept=["L2"])
    assert any(warning.startswith("L2 ") for warning in plan.warnings)
    assert "```\nopen" in text(shop)


def test_l3_a_heading_that_cuts_a_requirement_is_refused(archive: Callable[..., Plan]) -> None:
    delta = f"## ADDED Requirements\n\n{NEW}\n## Example\n\nText.\n{SCENARIO}"
    refused(archive, "L3", delta)
    dropped = archive(delta, accept=["L3"]).losses[0].lines
    assert "Text." in dropped


def test_l4_text_outside_the_operations_is_listed(archive: Callable[..., Plan]) -> None:
    delta = (
        f"# Title\n\nIntro.\n\n## ADDED Requirements\n\nAside.\n\n{NEW}\n## Notes\n\nA note.\n\n"
        "## REMOVED Requirements\n\n### Requirement: Logout\n\n"
    )
    plan = archive(delta)
    lines = {line for loss in plan.losses if loss.number == "L4" for line in loss.lines}
    assert lines == {"# Title", "Intro.", "Aside.", "A note."}
    assert sum(warning.startswith("L4 ") for warning in plan.warnings) == 3


def git(project: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *arguments],
        cwd=project,
        check=True,
        capture_output=True,
    )


def test_l5_an_edit_since_the_delta_was_written_is_merged_with_it_and_told(
    shop: Path, open_tree: OpenTree
) -> None:
    """Two changes MODIFY one requirement; the second knows nothing of the first."""
    spec = shop / "openspec/specs/auth/spec.md"
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    block = spec.read_text().partition("### Requirement: Logout")
    delta.write_text(f"## MODIFIED Requirements\n\n{''.join(block[1:])}".replace("ends", "is over"))
    git(shop, "init", "-q")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "both")
    assert not open_tree(shop).plan_archive("add-lockout", Options()).warnings
    spec.write_text(spec.read_text().replace("on request.", "on request, within 5 s."))
    git(shop, "commit", "-qam", "later")
    plan = open_tree(shop).archive("add-lockout", Options())
    assert any("L5" in warning and "Logout" in warning for warning in plan.warnings)
    assert "The system SHALL end a session on request, within 5 s." in spec.read_text()
    assert "the session is over" in spec.read_text()


@pytest.mark.parametrize(
    "entry", ["### Requirement: Logoutt", "- `### Requirement: Logout` - no longer needed"]
)
def test_l6_a_removal_that_removes_nothing_is_refused(
    archive: Callable[..., Plan], shop: Path, entry: str
) -> None:
    delta = f"## ADDED Requirements\n\n{NEW}\n## REMOVED Requirements\n\n{entry}\n"
    refused(archive, "L6", delta)
    archive(delta, accept=["L6"])
    assert "### Requirement: Logout\n" in text(shop)


def test_l7_a_change_without_deltas_is_archived_with_a_warning(
    shop: Path, open_tree: OpenTree
) -> None:
    (shop / "openspec/changes/add-lockout/specs/auth/spec.md").unlink()
    openspec = open_tree(shop)
    assert [w[:2] for w in openspec.plan_archive("add-lockout", Options()).warnings] == ["L7"]
    metadata = shop / "openspec/changes/add-lockout/.openspec.yaml"
    metadata.write_text("schema: spec-driven\nskip_specs: true\n")
    assert not openspec.plan_archive("add-lockout", Options()).losses
    metadata.unlink()
    assert openspec.archive("add-lockout", Options()).target.is_dir()


def test_l7_a_delta_in_a_hidden_folder_is_refused(shop: Path, open_tree: OpenTree) -> None:
    hidden = shop / "openspec/changes/add-lockout/specs/.x/spec.md"
    hidden.parent.mkdir()
    hidden.write_text(f"## ADDED Requirements\n\n{NEW}")
    with pytest.raises(RefusedError, match=r"L7 specs/\.x/spec\.md"):
        open_tree(shop).plan_archive("add-lockout", Options())


def test_l8_bytes_that_are_not_utf8_are_never_written_over(
    archive: Callable[..., Plan], shop: Path
) -> None:
    refused(archive, "L8", f"## ADDED Requirements\n\n{NEW}".encode() + b"\xff\n")
    spec = shop / "openspec/specs/auth/spec.md"
    spec.write_bytes(spec.read_bytes() + b"\xff\n")
    refused(archive, "L8", f"## ADDED Requirements\n\n{NEW}")
    assert spec.read_bytes().endswith(b"\xff\n")


def test_l8_a_byte_order_mark_and_mixed_line_ends_go_as_in_the_reference_tool(
    archive: Callable[..., Plan], shop: Path
) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes().replace(b"\n", b"\r\n") + b"\n\n")
    archive(f"## ADDED Requirements\n\n{NEW}")
    data = spec.read_bytes()
    assert data.startswith(b"# auth")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_l9_scenarios_may_be_dropped_and_names_swapped_when_accepted(
    archive: Callable[..., Plan], shop: Path
) -> None:
    delta = (
        "## MODIFIED Requirements\n\n### Requirement: Login\nIt SHALL ask.\n\n"
        "#### Scenario: Right password\n- **WHEN** a\n\n## ADDED Requirements\n\n" + NEW
    )
    with pytest.raises(RefusedError, match="Wrong password"):
        archive(delta)
    archive(delta, accept=["L9"])
    assert "Wrong password" not in text(shop)


def test_l9_two_requirements_may_swap_their_names_when_accepted(
    archive: Callable[..., Plan], shop: Path
) -> None:
    pairs = (("Login", "Logout"), ("Logout", "Login"))
    lines = [f"- FROM: `### Requirement: {a}`\n- TO: `### Requirement: {b}`\n" for a, b in pairs]
    delta = "## RENAMED Requirements\n\n" + "".join(lines)
    with pytest.raises(RefusedError, match="exists already"):
        archive(delta)
    archive(delta, accept=["L9"])
    assert text(shop).index("Requirement: Logout") < text(shop).index("Requirement: Login")


def test_references_to_a_renamed_requirement_are_listed(
    archive: Callable[..., Plan], shop: Path
) -> None:
    other = shop / "openspec/specs/area/nested/spec.md"
    other.write_text(other.read_text() + '\nSee "Logout" of auth.\n')
    delta = (
        "## RENAMED Requirements\n\n- FROM: `### Requirement: Logout`\n"
        "- TO: `### Requirement: Leaving`\n"
    )
    plan = archive(delta)
    assert any("area/nested/spec.md:" in w and '"Leaving"' in w for w in plan.warnings)


def test_l10_without_validation_nothing_unmerged_or_empty_is_archived(
    archive: Callable[..., Plan], shop: Path
) -> None:
    flat = shop / "openspec/changes/add-lockout/specs/flat.md"
    flat.write_text(f"## ADDED Requirements\n\n{NEW}")
    refused(archive, "L10", f"## ADDED Requirements\n\n{NEW}", validate=False)
    flat.unlink()
    both = "## REMOVED Requirements\n\n### Requirement: Login\n\n### Requirement: Logout\n"
    refused(archive, "L10", both, validate=False)


def test_l12_only_new_errors_stop_an_archive(archive: Callable[..., Plan], shop: Path) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    bare = "\n### Requirement: Bare\nIt SHALL exist.\n"
    spec.write_text(spec.read_text() + bare)
    archive(f"## ADDED Requirements\n\n{NEW}")
    assert "Requirement: New" in text(shop)
    assert bare in text(shop)


def test_validation_shows_the_losses_as_notes_and_keeps_the_verdict(
    shop: Path, open_tree: OpenTree
) -> None:
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    delta.write_text(f"## ADDED Requirements\n\n{NEW}\n```\nopen\n")
    report = open_tree(shop).validate("add-lockout", "change")
    assert report.valid(strict=True)
    assert [(note.rule, note.path) for note in report.notes] == [("L2", "specs/auth/spec.md")]


def test_only_known_losses_can_be_accepted() -> None:
    with pytest.raises(OpenSpecError, match="L99 is not one of L2"):
        check_accepted(["L99"])
