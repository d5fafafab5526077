"""The `openspec` command: what it looks for, prints and ends with."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

OPENSPEC = str(Path(sys.executable).with_name("openspec"))


def run(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [OPENSPEC, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )


def told(folder: Path, *arguments: str, code: int = 0, **variables: str) -> Any:
    done = run(folder, *arguments, "--json", **variables)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_the_version_is_the_packs() -> None:
    assert run(Path.cwd(), "--version").stdout.strip() == version("mcp-host-openspec")


def test_the_nearest_tree_upwards_is_used(shop: Path) -> None:
    inner = shop / "src/deep"
    inner.mkdir(parents=True)
    (inner / "openspec").mkdir()  # no tree yet, so it does not count
    assert told(inner, "list")["root"] == {"path": str(shop), "source": "nearest"}


def test_a_root_that_is_set_is_used_and_nothing_above_it(shop: Path, tmp_path: Path) -> None:
    elsewhere = told(tmp_path, "list", OPENSPEC_ROOT=str(shop))
    assert [change["name"] for change in elsewhere["changes"]] == ["add-lockout"]
    empty = told(shop, "list", code=1, OPENSPEC_ROOT=str(tmp_path / "none"))
    assert empty["changes"] == [] and empty["root"] is None


def test_without_a_tree_the_code_is_the_reference_tools(tmp_path: Path) -> None:
    (status,) = told(tmp_path, "list", code=1)["status"]
    assert status["code"] == "no_openspec_root"
    assert run(tmp_path, "validate", "--all").returncode == 1


@pytest.mark.parametrize("target", ["spec.md", "/etc/hostname"])
def test_a_spec_one_may_not_look_at_ends_a_list_as_with_the_reference_tool(
    shop: Path, target: str
) -> None:
    bad = shop / "openspec/specs/bad/spec.md"
    bad.parent.mkdir()
    bad.symlink_to(target)
    listed = told(shop, "list", "--specs", code=1)
    assert (listed["specs"], listed["root"]) == ([], None)
    validated = told(shop, "validate", "--all", code=1)
    for answer, code in ((listed, "list_error"), (validated, "validate_error")):
        (status,) = answer["status"]
        assert status["code"] == code and str(bad) in status["message"]
    assert told(shop, "validate", "--changes")["summary"]["totals"]["failed"] == 0
    assert len(told(shop, "list")["changes"]) == 1


def test_findings_name_their_rule(shop: Path) -> None:
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    delta.write_text(delta.read_text().replace("#### Scenario", "##### Scenario"))
    (item,) = told(shop, "validate", "add-lockout", code=1)["items"]
    (issue,) = item["issues"]
    assert (issue["level"], issue["path"], issue["rule"]) == ("ERROR", "auth/spec.md", "C8")


def test_people_get_lines_and_the_same_exit_code(shop: Path) -> None:
    done = run(shop, "validate", "--all")
    assert done.returncode == 0
    assert "✓ change/add-lockout" in done.stdout
    assert "Totals: 3 passed, 0 failed (3 items)" in done.stdout
    assert "requirements 2" in run(shop, "list", "--specs").stdout
    assert "✓ Complete" in run(shop, "list").stdout
    assert run(shop, "show", "auth").stdout.startswith("# auth Specification")


def test_a_dry_run_changes_nothing_and_shows_the_diff(shop: Path) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    before = spec.read_bytes()
    data = told(shop, "archive", "add-lockout", "--dry-run")["archive"]
    assert data["dryRun"] and "+### Requirement: Lockout" in data["diffs"]["auth"]
    assert spec.read_bytes() == before
    assert not list((shop / "openspec/changes/archive").glob("*lockout"))


def test_an_archive_needs_a_yes(shop: Path) -> None:
    (status,) = told(shop, "archive", "add-lockout", code=1)["status"]
    assert status["code"] == "archive_confirmation_required"
    done = run(shop, "archive", "add-lockout", "--yes")
    assert done.returncode == 0
    assert "Change 'add-lockout' archived as '" in done.stdout


def test_a_refused_loss_is_named_and_can_be_accepted(shop: Path) -> None:
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    delta.write_text(delta.read_text() + "\n```\nopen\n")
    (status,) = told(shop, "archive", "add-lockout", "--yes", code=1)["status"]
    assert status["code"] == "archive_would_lose_text"
    assert "--accept L2" in status["fix"]
    assert told(shop, "archive", "add-lockout", "--yes", "--accept", "L2")["archive"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_output_that_cannot_be_written_is_told_in_one_line(shop: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [OPENSPEC, "list", "--json"]
        done = subprocess.run(command, cwd=shop, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "Error: the output: No space left on device\n")


def test_what_stands_in_a_file_does_not_steer_a_terminal(shop: Path) -> None:
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    delta.write_text(f"{delta.read_text()}\n## Odd\x1b[31mred\n\nlost \x9b2J text\n")
    (shop / "openspec/changes/x\x1b[2J").mkdir()
    commands = (
        ("validate", "add-lockout"),
        ("list",),
        ("archive", "add-lockout", "--yes", "--dry-run"),
        ("show", "x\x1b[3J"),
    )
    for command in commands:
        done = run(shop, *command)
        assert "\N{REPLACEMENT CHARACTER}" in done.stdout + done.stderr
        assert not set(done.stdout + done.stderr) & {"\x1b", "\x9b"}


def test_init_makes_a_tree_of_the_current_layout(tmp_path: Path) -> None:
    made = told(tmp_path, "init", "fresh", "--tools", "none")
    assert made["created"] == [
        "openspec/specs/.gitkeep",
        "openspec/changes/archive/.gitkeep",
        "openspec/config.yaml",
    ]
    fresh = tmp_path / "fresh"
    (fresh / "openspec/config.yaml").write_text("schema: spec-driven\ncontext: ours\n")
    assert told(fresh, "doctor")["root"]["healthy"]
    again = told(tmp_path, "init", "fresh", "--tools", "none", "--force")
    assert again["created"] == []
    assert "ours" in (fresh / "openspec/config.yaml").read_text()


def test_legacy_init_makes_a_tree_that_lists_and_validates(tmp_path: Path) -> None:
    made = told(tmp_path, "init", "fresh", "--legacy", "--tools", "claude,cursor")
    assert set(made["created"]) >= {"openspec/config.yaml", "CLAUDE.md", "AGENTS.md"}
    fresh = tmp_path / "fresh"
    assert told(fresh, "list")["root"]["source"] == "nearest"
    assert told(fresh, "validate", "--all")["summary"]["totals"]["items"] == 0
    pointer = fresh / "CLAUDE.md"
    pointer.write_text(f"Mine.\n\n{pointer.read_text()}")
    again = run(tmp_path, "init", "fresh", "--legacy")
    assert again.returncode == 0  # as the reference tool: no error
    assert pointer.read_text().startswith("Mine.")


@pytest.mark.parametrize(
    ("arguments", "empty"),
    [
        (("status", "--change", "add-lockout"), {}),
        (("list",), {"changes": [], "root": None}),
        (("list", "--specs"), {"specs": [], "root": None}),
        (("new", "change", "x"), {"change": None}),
        (("archive", "add-lockout", "--yes"), {"archive": None}),
        (("context",), {"root": None, "members": []}),
        (("schemas",), {"schemas": [], "root": None}),
    ],
)
def test_a_store_is_refused_as_by_the_reference_tool_where_none_is_registered(
    shop: Path, arguments: tuple[str, ...], empty: dict[str, Any]
) -> None:
    done = run(shop, *arguments, "--json", "--store", "shared")

    answer = json.loads(done.stdout)
    (status,) = answer.pop("status")
    assert done.returncode == 1 and answer == empty
    assert status["code"] == "no_registered_stores" and status["target"] == "store.id"
    assert "shared" in status["message"] and "--project" in status["fix"]


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("list", "--frobnicate"), ("validate", "--store")]
)
def test_wrong_usage_ends_with_one(shop: Path, arguments: tuple[str, ...]) -> None:
    done = run(shop, *arguments)
    assert done.returncode == 1
    assert "error: " in done.stderr
