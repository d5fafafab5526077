"""What trials on real trees found, each held here."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from mcp_host.testing import CallFailed, stdio_client
from mcp_host_openspec.errors import LockedError, NotFoundError, OpenSpecError, RefusedError
from mcp_host_openspec.model.names import nearest
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.archive_plan import Options

CRASH = Path(__file__).with_name("crash.py")
BLOCK = "### Requirement: {}\nIt SHALL be.\n\n#### Scenario: s\n- **WHEN** a\n"

Put = Callable[[Mapping[str, str | bytes]], Path]


def test_names_are_compared_without_closing_signs_however_often(
    shop: Path, open_tree: Callable[[Path], OpenSpec]
) -> None:
    """The reference tool strips `#` signs when it reads a name and again when it compares it."""
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    blocks = "\n".join(map(BLOCK.format, ("Epsilon # ##", "Epsilon")))
    delta.write_text(f"## ADDED Requirements\n\n{blocks}")
    report = open_tree(shop).validate("add-lockout", "change")
    assert [finding.rule for finding in report.at("ERROR")] == ["C5"]
    delta.write_text(f"## MODIFIED Requirements\n\n{BLOCK.format('Logout # ##')}")
    report = open_tree(shop).validate("add-lockout", "change")
    assert [finding.rule for finding in report.at("ERROR")] == ["C9"]


@pytest.mark.parametrize("seed", range(4))
def test_the_loser_of_a_race_hears_what_is_true(shop: Path, seed: int) -> None:
    """Two archives of one change at once: one wins, the other is told of that and nothing else."""
    outcomes: list[object] = []
    begin = threading.Barrier(2)

    def run(delay: float) -> None:
        tree = OpenSpec(Root(shop, "configured"))
        begin.wait()
        time.sleep(delay)
        try:
            outcomes.append(tree.archive("add-lockout", Options()).change)
        except OpenSpecError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run, args=(seed * n / 400,)) for n in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (lost,) = (one for one in outcomes if isinstance(one, OpenSpecError))
    assert isinstance(lost, NotFoundError | LockedError | RefusedError), repr(lost)
    if isinstance(lost, RefusedError):
        assert lost.code == "archive_target_exists"


@pytest.mark.anyio
async def test_a_server_that_lives_on_settles_what_another_left_half_done_and_says_so(
    put: Put, server: list[str]
) -> None:
    spec = (
        "# s\n\n## Purpose\nA purpose that is long enough to be called a purpose.\n\n"
        f"## Requirements\n\n{BLOCK.format('One')}"
    )
    files = {f"openspec/specs/s{n}/spec.md": spec for n in range(3)}
    delta = f"## ADDED Requirements\n\n{BLOCK.format('Two')}"
    project = put(
        {**files, **{f"openspec/changes/grow/specs/s{n}/spec.md": delta for n in range(3)}}
    )
    journal = project / "openspec/changes/archive/.openspec-archive.journal/plan.json"
    async with stdio_client(server, cwd=project) as client:
        assert "notices" not in await client.value("list")
        for step in range(10, 60, 3):
            subprocess.run([sys.executable, str(CRASH), str(project), str(step)], check=False)
            if journal.exists():
                break
        first = await client.value("list")
        assert "has been finished or undone now" in first["notices"][0]
        assert "notices" not in await client.value("list")
        assert first["count"] == (project / "openspec/changes/grow").exists()
    texts = {(project / name).read_text().count("### Requirement: ") for name in files}
    assert texts == ({1} if first["count"] else {2})


@pytest.mark.anyio
async def test_a_text_that_cannot_be_read_hides_no_other(shop: Path, server: list[str]) -> None:
    design = shop / "openspec/changes/add-lockout/design.md"
    design.unlink()
    os.mkfifo(design)
    async with stdio_client(server, cwd=shop) as client:
        shown = await client.value("show", name="add-lockout")
        contents = await client.read("openspec://changes/add-lockout")

    assert "## Why" in shown["proposal"] and shown["design"] is None
    assert [warning["path"] for warning in shown["warnings"]] == [str(design)]
    assert "## Why" in contents[0]["text"]


def test_names_that_are_suggested_are_near() -> None:
    names = ["add-login", "add-lockout", "jwxt", "tokens", "parser", "user-auth"]

    assert nearest("add-logn", names)[0] == "add-login"
    assert nearest("auth", names) == ["user-auth"]
    assert nearest("nope", names) == []


def test_a_change_that_was_archived_meanwhile_is_named_by_where_it_went(
    shop: Path, open_tree: Callable[[Path], OpenSpec]
) -> None:
    tree = open_tree(shop)
    plan = tree.archive("add-lockout", Options())

    with pytest.raises(NotFoundError) as failed:
        tree.archive("add-lockout", Options())

    assert plan.target.name in failed.value.suggestions[0]
    assert json.dumps(failed.value.details)


async def test_a_slash_that_is_not_escaped_is_met_with_the_uri_that_is_meant(
    server: list[str], shop: Path
) -> None:
    async with stdio_client(server, cwd=shop) as client:
        with pytest.raises(CallFailed) as failed:
            await client.read("openspec://specs/area/nested")
        (hint,) = failed.value.envelope["suggestions"]
        meant = hint.split("'")[1]
        assert meant == "openspec://specs/area%2Fnested"
        assert "nested" in (await client.read(meant))[0]["text"]
        with pytest.raises(CallFailed) as failed:
            await client.read("openspec://changes/a/b/tasks")
        assert "openspec://changes/a%2Fb/tasks" in failed.value.envelope["suggestions"][0]


def test_near_names_are_found_among_thousands_in_a_moment() -> None:
    """The bound is 20 ms on a quiet machine; here it is one of processor time, and wide."""
    names = [
        f"{area}-{number:04}-of-it"
        for number in range(1000)
        for area in ["auth", "api", "ui", "db"]
    ]
    begin = time.process_time()
    assert nearest("atuh-0101-of-it", names)[0] == "auth-0101-of-it"
    assert nearest("nope", names) == []
    assert time.process_time() - begin < 1


def test_validating_all_again_looks_at_every_edit(
    shop: Path, open_tree: Callable[[Path], OpenSpec]
) -> None:
    """What was found is kept for a state of the tree; any edit makes another."""
    openspec = open_tree(shop)
    assert all(report.valid() for report in openspec.validate_all())
    for path in (shop / "openspec").rglob("*"):
        os.utime(path, (1, 1))
    spec = shop / "openspec/specs/auth/spec.md"
    text = spec.read_text()
    for edit in (lambda: spec.write_text("# nothing\n"), spec.unlink):
        assert all(report.valid() for report in openspec.validate_all("spec"))
        edit()
        found = {report.id: report.valid() for report in openspec.validate_all("spec")}
        assert not found.get("auth", False)
        spec.write_text(text)
