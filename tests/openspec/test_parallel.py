"""Two changes that edit one requirement: both edits stay, or the archive is refused."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from mcp_host.testing import CallFailed, stdio_client
from mcp_host_openspec.errors import RefusedError
from mcp_host_openspec.model.three_way import merge_lines
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.archive_plan import Options

OPENSPEC = str(Path(sys.executable).with_name("openspec"))
TODAY = date.today().isoformat()
SPEC_PATH = "openspec/specs/auth/spec.md"

HEAD = """\
# auth Specification

## Purpose
Says who may use the system and how people prove who they are.

## Requirements

"""
LOGIN = """\
### Requirement: Login
The system SHALL ask for a password.
It SHALL show which account is meant.

#### Scenario: Right
- **WHEN** the password is right
- **THEN** the person is let in

#### Scenario: Wrong
- **WHEN** the password is wrong
- **THEN** the person is turned away
"""
LOGOUT = """\
### Requirement: Logout
The system SHALL end a session on request.

#### Scenario: Leaving
- **WHEN** a person logs out
- **THEN** the session ends
"""
LOCKED = """\
#### Scenario: Locked
- **WHEN** the account is locked
- **THEN** the person is told so
"""
AUDITED = """\
#### Scenario: Audited
- **WHEN** anybody logs in
- **THEN** it is written down
"""

NAMES_OF_PROGRAMS = """
core.fsmonitor core.pager core.sshCommand core.editor core.alternateRefsCommand credential.helper
diff.external diff.evil.textconv diff.evil.command merge.evil.driver gpg.program
filter.evil.clean filter.evil.smudge filter.evil.process
"""

Put = Callable[[Mapping[str, str | bytes]], Path]


def modified(*blocks: str) -> str:
    return "## MODIFIED Requirements\n\n" + "\n".join(blocks)


def delta_path(change: str, root: str = "changes") -> str:
    return f"openspec/{root}/{change}/specs/auth/spec.md"


@pytest.fixture
def shop(put: Put) -> Path:
    """A tree with one spec and no change."""
    return put({SPEC_PATH: f"{HEAD}{LOGIN}\n{LOGOUT}", "openspec/config.yaml": "schema: x\n"})


def openspec(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([OPENSPEC, *arguments], cwd=project, capture_output=True, text=True)


def archive(project: Path, change: str, *flags: str) -> dict[str, Any]:
    """What the command answers, which must be a success."""
    done = openspec(project, "archive", change, "--yes", "--json", *flags)
    assert done.returncode == 0, done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)["archive"]
    return answer


def refusal(project: Path, change: str) -> dict[str, Any]:
    """The status of an archive that is refused, and changes nothing."""
    before = contents(project)
    done = openspec(project, "archive", change, "--yes", "--json")
    assert done.returncode == 1, done.stdout
    assert contents(project) == before
    (status,) = json.loads(done.stdout)["status"]
    return dict(status)


def spec(project: Path) -> str:
    return (project / SPEC_PATH).read_text("utf-8")


def contents(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def git(project: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *arguments],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def commit_all(project: Path) -> None:
    if not (project / ".git").exists():
        git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "a step")


def foreign_archive(project: Path, change: str, block: str, by: str) -> None:
    """An archive as another tool does it: the requirement replaced, the folder moved, no record."""
    text = spec(project)
    (project / SPEC_PATH).write_text(text.replace(block, by), "utf-8")
    target = project / f"openspec/changes/archive/{TODAY}-{change}"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(project / f"openspec/changes/{change}", target)


ONE = LOGIN.replace("which account is meant.", "which account is meant, by name.")
TWO = f"{LOGIN}\n{LOCKED}"


def test_the_second_archive_keeps_what_the_first_one_edited(shop: Path, put: Put) -> None:
    put({delta_path("one"): modified(f"{ONE}\n{AUDITED}"), delta_path("two"): modified(TWO)})

    archive(shop, "one")
    answer = archive(shop, "two")

    assert "by name." in spec(shop)
    assert all(f"#### Scenario: {name}\n" in spec(shop) for name in ("Audited", "Locked"))
    assert any("L5" in w and "merges both edits" in w for w in answer["warnings"])


def test_validation_keeps_the_verdict_and_says_that_an_archive_merges(shop: Path, put: Put) -> None:
    """The reference tool calls the missing scenario an error (C9); so does validation."""
    put({delta_path("one"): modified(f"{ONE}\n{AUDITED}"), delta_path("two"): modified(TWO)})
    archive(shop, "one")

    done = openspec(shop, "validate", "two", "--json")

    (item,) = json.loads(done.stdout)["items"]
    assert done.returncode == 1
    assert [issue["rule"] for issue in item["issues"] if issue["level"] == "ERROR"] == ["C9"]
    assert ["merges both edits" in note["message"] for note in item["notes"]].count(True) == 1
    archive(shop, "two")


def test_edits_that_conflict_are_refused_with_both_sides_and_a_way_on(shop: Path, put: Put) -> None:
    other = LOGIN.replace("which account is meant.", "which account is meant, by number.")
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(other)})
    archive(shop, "one")

    status = refusal(shop, "two")

    (loss,) = status["losses"]
    (side,) = loss["sides"]
    assert (status["code"], loss["loss"]) == ("archive_would_lose_text", "L5")
    assert "by name." in side["spec"]
    assert "by number." in side["change"]
    assert loss["lines"] == ["It SHALL show which account is meant, by name."]
    assert "--accept L5" in status["fix"]

    assert openspec(shop, "rebase", "two").returncode == 1
    assert openspec(shop, "rebase", "two", "--mine").returncode == 0
    archive(shop, "two")
    assert "by number." in spec(shop)


def test_a_conflict_that_is_accepted_goes_as_in_the_reference_tool(shop: Path, put: Put) -> None:
    other = LOGIN.replace("which account is meant.", "which account is meant, by number.")
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(other)})
    archive(shop, "one")

    archive(shop, "two", "--accept", "L5")

    assert spec(shop) == f"{HEAD}{other}\n{LOGOUT}"


def test_a_removal_of_what_was_edited_since_is_refused(shop: Path, put: Put) -> None:
    removal = "## REMOVED Requirements\n\n### Requirement: Login\n"
    put({delta_path("one"): modified(ONE), delta_path("two"): removal})
    archive(shop, "one")

    assert [loss["loss"] for loss in refusal(shop, "two")["losses"]] == ["L5"]


def test_an_edit_follows_its_requirement_to_its_new_name(shop: Path, put: Put) -> None:
    rename = (
        "## RENAMED Requirements\n\n"
        "- FROM: `### Requirement: Login`\n- TO: `### Requirement: Signing in`\n"
    )
    put({delta_path("one"): rename, delta_path("two"): modified(TWO)})
    archive(shop, "one")

    archive(shop, "two")

    assert "### Requirement: Signing in\nThe system SHALL ask" in spec(shop)
    assert "#### Scenario: Locked\n" in spec(shop)
    assert "Requirement: Login" not in spec(shop)


def test_git_tells_the_base_where_another_tool_archived(shop: Path, put: Put) -> None:
    commit_all(shop)
    put({delta_path("one"): modified(ONE)})
    commit_all(shop)
    put({delta_path("two"): modified(TWO)})
    commit_all(shop)
    foreign_archive(shop, "one", LOGIN, ONE)
    commit_all(shop)

    archive(shop, "two")

    assert "by name." in spec(shop)
    assert "#### Scenario: Locked\n" in spec(shop)


def test_git_tells_the_base_across_branches_and_a_renamed_change(shop: Path, put: Put) -> None:
    commit_all(shop)
    git(shop, "checkout", "-qb", "side")
    put({delta_path("tow"): modified(TWO)})
    commit_all(shop)
    git(shop, "checkout", "-q", "-")
    put({delta_path("one"): modified(ONE)})
    commit_all(shop)
    foreign_archive(shop, "one", LOGIN, ONE)
    commit_all(shop)
    git(shop, "merge", "-q", "--no-edit", "side")
    git(shop, "mv", "openspec/changes/tow", "openspec/changes/two")
    commit_all(shop)

    archive(shop, "two")

    assert "by name." in spec(shop)
    assert "#### Scenario: Locked\n" in spec(shop)


def test_without_a_base_an_archive_since_the_change_was_begun_stops_it(
    shop: Path, put: Put
) -> None:
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(TWO)})
    foreign_archive(shop, "one", LOGIN, ONE)

    status = refusal(shop, "two")

    assert f"{TODAY}-one" in status["message"]
    (loss,) = status["losses"]
    assert "by name." in loss["sides"][0]["spec"]
    put({"openspec/changes/two/.openspec.yaml": "schema: spec-driven\ncreated: 2999-01-01\n"})
    archive(shop, "two")


def test_where_nothing_else_changed_the_delta_is_taken_as_it_is(shop: Path, put: Put) -> None:
    odd = "###   Requirement: Login  \nIt SHALL   do.\n\n#### Scenario: Right\n- a\n" + (
        "#### Scenario: Wrong\n- b\n"
    )
    put({delta_path("two"): modified(odd)})
    commit_all(shop)

    archive(shop, "two")

    assert spec(shop) == f"{HEAD}{odd}\n{LOGOUT}"


def test_reading_leaves_the_tree_byte_for_byte(shop: Path, put: Put) -> None:
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(TWO)})
    commit_all(shop)
    before = contents(shop)
    index = (shop / ".git/index").read_bytes()

    for arguments in (
        ["list", "--json"],
        ["list", "--specs"],
        ["show", "one", "--json", "--diff"],
        ["validate", "--all", "--json"],
        ["diff", "one"],
        ["archive", "two", "--dry-run", "--json"],
    ):
        assert openspec(shop, *arguments).returncode in (0, 1)

    assert contents(shop) == before
    assert (shop / ".git/index").read_bytes() == index


def test_no_program_that_the_repository_names_is_run(shop: Path, put: Put, tmp_path: Path) -> None:
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(TWO)})
    (shop / ".gitattributes").write_text("*.md diff=evil filter=evil merge=evil\n")
    commit_all(shop)
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    trap.chmod(0o755)
    for key in NAMES_OF_PROGRAMS.split():
        git(shop, "config", key, str(trap))
    git(shop, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        shutil.copy(trap, shop / ".git/hooks" / hook)
    git(shop, "status")
    assert sprung.exists()
    sprung.unlink()

    for arguments in (
        ["list", "--json"],
        ["show", "one", "--json"],
        ["validate", "--all", "--json"],
        ["archive", "two", "--dry-run"],
        ["archive", "one", "--yes"],
        ["rebase", "two"],
        ["archive", "two", "--yes"],
        ["unarchive", "two"],
    ):
        openspec(shop, *arguments)

    assert not sprung.exists()
    assert "#### Scenario: Locked\n" not in spec(shop)  # archived, and taken back


def test_a_rebased_delta_holds_both_edits_and_is_valid(shop: Path, put: Put) -> None:
    put({delta_path("one"): modified(f"{ONE}\n{AUDITED}"), delta_path("two"): modified(TWO)})
    archive(shop, "one")

    done = openspec(shop, "rebase", "--all", "--json")

    (rebased,) = json.loads(done.stdout)["rebased"]
    assert rebased["merged"] == ["auth: Login"]
    written = (shop / delta_path("two")).read_text("utf-8")
    assert "by name." in written
    assert "#### Scenario: Audited\n" in written
    assert openspec(shop, "validate", "two", "--strict").returncode == 0
    assert not archive(shop, "two").get("warnings")


def test_an_archive_is_taken_back_to_the_byte(shop: Path, put: Put) -> None:
    text = f"\ufeff{HEAD}{LOGIN}\n\n\n{LOGOUT}".replace("\n", "\r\n")
    put({SPEC_PATH: text, delta_path("one"): modified(ONE)})
    put({"openspec/changes/one/specs/fresh/spec.md": f"## ADDED Requirements\n\n{LOGOUT}"})
    before = contents(shop)
    archive(shop, "one")
    assert contents(shop) != before

    assert openspec(shop, "unarchive", "one").returncode == 0

    assert contents(shop) == before
    again = openspec(shop, "unarchive", "one", "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["status"][0]["code"] == "not_found"


def test_an_archive_is_not_taken_back_over_a_later_edit(shop: Path, put: Put) -> None:
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(TWO)})
    archive(shop, "one")
    archive(shop, "two")
    before = contents(shop)

    done = openspec(shop, "unarchive", "one", "--json")

    assert json.loads(done.stdout)["status"][0]["code"] == "unarchive_edited_since"
    assert contents(shop) == before
    assert openspec(shop, "unarchive", "two").returncode == 0
    assert openspec(shop, "unarchive", "one").returncode == 0
    assert spec(shop) == f"{HEAD}{LOGIN}\n{LOGOUT}"


def test_overlaps_are_told_by_list_validate_and_the_dry_run(shop: Path, put: Put) -> None:
    put(
        {
            delta_path("one"): modified(ONE),
            delta_path("two"): modified(TWO),
            delta_path("three"): modified(LOGOUT.replace("ends", "is over")),
        }
    )

    rows = json.loads(openspec(shop, "list", "--json").stdout)["changes"]
    notes = json.loads(openspec(shop, "validate", "one", "--json").stdout)["items"][0]["notes"]
    dry = json.loads(openspec(shop, "archive", "two", "--dry-run", "--json").stdout)["archive"]

    overlaps = {row["name"]: row.get("overlaps") for row in rows}
    claim = {"capability": "auth", "requirement": "Login"}
    assert overlaps == {
        "one": [{**claim, "changes": ["two"]}],
        "two": [{**claim, "changes": ["one"]}],
        "three": None,
    }
    assert [note["message"] for note in notes if note["rule"] == "N6"] == [
        'two rewrites "Login" as well.'
    ]
    assert dry["overlaps"] == [{**claim, "changes": ["one"]}]
    assert 'one rewrites "Login" as well.' in openspec(shop, "list").stdout


def test_overlaps_of_one_change_are_those_that_are_found_of_all(shop: Path, put: Put) -> None:
    put(
        {
            **{delta_path(name): modified(ONE) for name in ("one", "two", "moved", "away")},
            "openspec/changes/folder/specs/auth/spec.md/text.md": ONE,
            "openspec/changes/file/specs": ONE,
        }
    )
    changes = shop / "openspec/changes"
    (changes / "moved/specs/auth").rename(shop / "moved")
    (changes / "moved/specs/auth").symlink_to(shop / "moved", target_is_directory=True)
    (changes / "away/specs/auth/spec.md").unlink()
    (changes / "away/specs/auth/spec.md").symlink_to("spec.md")
    found = OpenSpec(Root(shop, "configured"))

    of_all = found.overlaps()

    assert set(of_all) == {"one", "two"}
    for change in found.change_ids():
        assert found.overlaps(change).get(change) == of_all.get(change)


@pytest.mark.anyio
async def test_the_tools_merge_and_refuse_alike(shop: Path, put: Put, server: list[str]) -> None:
    other = LOGIN.replace("which account is meant.", "which account is meant, by number.")
    put({delta_path("one"): modified(ONE), delta_path("two"): modified(other)})
    async with stdio_client(server, cwd=shop) as client:
        rows = (await client.value("list"))["changes"]
        await client.value("archive", name="one")
        with pytest.raises(CallFailed) as failed:
            await client.value("archive", name="two")
        preview = await client.value("archive", name="two", dryRun=True)
        await client.value("archive", name="two", accept=["L5"])

    assert all(row["overlaps"] for row in rows)
    (loss,) = failed.value.envelope["details"]["losses"]
    assert {"by name." in loss["sides"][0]["spec"], "by number." in loss["sides"][0]["change"]} == {
        True
    }
    assert not preview["ready"]
    assert "by number." in spec(shop)


LINES = [f"It SHALL keep rule {number}." for number in range(4)]
NAMES = ["Right", "Wrong", "Late"]


def block(body: Sequence[str], scenarios: Mapping[str, Sequence[str]]) -> str:
    parts = ["### Requirement: Login", *body]
    for name, steps in scenarios.items():
        parts += ["", f"#### Scenario: {name}", *steps]
    return "\n".join(parts) + "\n"


def edited(pick: random.Random, who: str) -> str:
    """The requirement with a few edits of one side: lines replaced and added, scenarios added."""
    body = list(LINES)
    scenarios = {name: [f"- **WHEN** {name}", f"- **THEN** so {name}"] for name in NAMES}
    for number in range(pick.randint(1, 3)):
        match pick.randrange(4):
            case 0:
                body[pick.randrange(len(body))] = f"It MUST do what {who} says, {number}."
            case 1:
                body.insert(pick.randrange(len(body) + 1), f"It MUST add {who} {number}.")
            case 2:
                steps = scenarios[pick.choice(NAMES)]
                steps.insert(pick.randrange(len(steps) + 1), f"- **AND** {who} {number}")
            case _:
                scenarios[f"New {who} {number}"] = [f"- **WHEN** {who} {number}"]
    return block(body, scenarios)


def pair_loses_nothing(seed: int, *, history: str) -> str:
    """Archive both changes of a generated pair: every line of both is there, or it is refused."""
    pick = random.Random(seed)
    start = block(LINES, {n: [f"- **WHEN** {n}", f"- **THEN** so {n}"] for n in NAMES})
    one, two = edited(pick, "one"), edited(pick, "two")
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)

        def write(files: Mapping[str, str]) -> None:
            for name, text in files.items():
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                (project / name).write_text(text, "utf-8")

        write({SPEC_PATH: f"{HEAD}{start}\n{LOGOUT}"})
        if history != "record":
            commit_all(project)
        write({delta_path("one"): modified(one), delta_path("two"): modified(two)})
        if history == "git":
            commit_all(project)
        tree = OpenSpec(Root(project, "configured"))
        if history == "record":
            tree.archive("one", Options())
        else:
            foreign_archive(project, "one", start, one)
        if history == "git":
            commit_all(project)
        try:
            tree.archive("two", Options())
        except RefusedError as refused:
            assert [loss["loss"] for loss in refused.details["losses"]] == ["L5"], refused
            assert all(loss["sides"] for loss in refused.details["losses"])
            return "refused"
        wanted = {line for line in (*new_lines(start, one), *new_lines(start, two)) if line}
        assert wanted <= set(spec(project).splitlines())
        return "merged"


def new_lines(old: str, new: str) -> set[str]:
    return set(new.splitlines()) - set(old.splitlines())


@pytest.mark.parametrize("history", ["record", "git", "archive"])
def test_no_line_of_a_pair_of_changes_is_lost_in_silence(history: str) -> None:
    outcomes = [pair_loses_nothing(seed, history=history) for seed in range(25)]

    assert "refused" in outcomes
    assert history == "archive" or "merged" in outcomes


@pytest.mark.torture
@pytest.mark.parametrize("history", ["record", "git", "archive"])
def test_no_line_of_many_pairs_of_changes_is_lost_in_silence(history: str) -> None:
    for seed in range(1000, 1700):
        pair_loses_nothing(seed, history=history)


def by_git(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, lines in (("ours", ours), ("base", base), ("theirs", theirs)):
            path = Path(folder, name)
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            paths.append(str(path))
        done = subprocess.run(
            ["git", "merge-file", "-p", *paths], capture_output=True, text=True, env=os.environ
        )
    return done.stdout.splitlines() if done.returncode == 0 else None


EDITS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 2), st.integers(0, 2)), max_size=3)


def apply(base: Sequence[str], edits: list[tuple[int, int, int]], who: str) -> list[str]:
    """The text with lines dropped and put in; what is put in is in no other text."""
    lines = list(base)
    for number, (at, gone, new) in enumerate(edits):
        begin = min(at, len(lines))
        lines[begin : begin + gone] = [f"{who} {number} {n}" for n in range(new)]
    return lines


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.integers(0, 12), EDITS, EDITS)
def test_lines_merge_as_git_merges_them(
    size: int, mine: list[tuple[int, int, int]], other: list[tuple[int, int, int]]
) -> None:
    base = [f"line {number}" for number in range(size)]
    ours, theirs = apply(base, mine, "ours"), apply(base, other, "theirs")

    assert merge_lines(base, ours, theirs) == by_git(base, ours, theirs)
