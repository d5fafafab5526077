"""A plan that plans: what is ready, what to do first, and when something is done."""

import json
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_host_tasky.errors import InvalidError
from mcp_host_tasky.service import Caller, Search, Tasks
from mcp_host_tasky.storage import Condition, Home
from tasky_lab import COMMAND, ME, Person, Plans, create, edit, get, names, refusal

Plan = Callable[[list[dict[str, Any]]], list[str]]


def made(plan: Tasks, *items: dict[str, Any]) -> list[str]:
    return [str(view["task_id"]) for view in plan.create(list(items), ME)]


def test_parts_of_a_task_that_waits_are_not_ready(plan: Tasks) -> None:
    dig, bed, _, row = made(
        plan,
        {"ref": "dig", "name": "Dig"},
        {"ref": "bed", "name": "Bed", "blockers": ["dig"]},
        {"ref": "seeds", "name": "Seeds", "subtask_of": "bed"},
        {"name": "Row", "subtask_of": "seeds"},
    )

    assert names(plan, ready=True) == ["Dig"]
    edit(plan, "complete", dig)
    assert names(plan, ready=True) == ["Bed", "Seeds", "Row"]
    edit(plan, "reopen", dig)
    edit(plan, "update", row, subtask_of="")
    assert names(plan, ready=True) == ["Dig", "Row"]
    edit(plan, "cancel", bed)  # what is closed waits no more
    assert names(plan, ready=True) == ["Dig", "Seeds", "Row"]


def test_a_parent_that_waits_for_its_own_parts_does_not_hold_them_up(plan: Tasks) -> None:
    whole, part, inner, other = made(
        plan,
        {"ref": "whole", "name": "Whole", "blockers": ["part", "inner"]},
        {"ref": "part", "name": "Part", "subtask_of": "whole"},
        {"ref": "inner", "name": "Inner", "subtask_of": "part"},
        {"name": "Other"},
    )

    assert names(plan, ready=True) == ["Part", "Inner", "Other"]
    edit(plan, "update", whole, add_blockers=[other])
    assert names(plan, ready=True) == ["Other"]
    edit(plan, "update", other, subtask_of=inner)
    assert names(plan, ready=True) == ["Part", "Inner", "Other"]
    edit(plan, "update", part, subtask_of="")  # and with it all that is below
    assert names(plan, ready=True) == ["Part", "Inner", "Other"]
    assert get(plan, whole)["blocked_by"]


def test_what_is_held_and_what_waits_can_be_asked_for(plan: Tasks) -> None:
    dig, sow, row = create(plan, "Dig", "Sow", "Row")
    edit(plan, "update", sow, blockers=[dig])
    edit(plan, "update", row, subtask_of=sow)
    plan.edit([{"action": "claim", "task_id": dig}], Caller("codex"))

    assert names(plan, claimed_by="*") == ["Dig"]
    assert names(plan, waiting=True) == ["Sow", "Row"]
    edit(plan, "cancel", sow)
    assert names(plan, waiting=True) == []


def test_what_unblocks_most_can_come_first(plan: Tasks) -> None:
    """A long chain goes before a task for which more wait directly."""
    chain = [
        {"ref": f"c{n}", "name": f"Chain {n}", "blockers": [f"c{n - 1}"] if n else []}
        for n in range(5)
    ]
    made(
        plan,
        {"name": "Urgent", "priority": 5},
        {"ref": "hub", "name": "Hub"},
        *({"name": f"Leaf {n}", "blockers": ["hub"]} for n in range(3)),
        *chain,
    )

    page = plan.search(Search(ready=True, sort="unblocks"), ME)

    assert [row["name"] for row in page.rows] == ["Chain 0", "Hub", "Urgent"]
    assert [row.get("unblocks") for row in page.rows] == [4, 3, None]
    assert names(plan, ready=True) == ["Urgent", "Hub", "Chain 0"]


def test_what_unblocks_most_goes_page_by_page(plan: Tasks) -> None:
    """Past the tasks that are ranked by all that waits, the order is by what waits directly."""
    hubs = [{"ref": f"h{n}", "name": f"Hub {n:03}"} for n in range(130)]
    leaves = [
        {"name": f"Leaf {n} {m}", "blockers": [f"h{n}"]} for n in range(0, 130, 2) for m in "ab"
    ]
    made(plan, *hubs, *leaves)
    found: list[Any] = []
    cursor = None
    while True:
        page = plan.search(Search(ready=True, sort="unblocks", limit=40, cursor=cursor), ME)
        found += [row["name"] for row in page.rows]
        assert page.total == 130
        cursor = page.next_cursor
        if cursor is None:
            break

    expected = [*range(0, 130, 2), *range(1, 130, 2)]
    assert found == [f"Hub {n:03}" for n in expected]


def test_sort_says_what_it_takes(plan: Tasks) -> None:
    for wanted in ({"sort": "unblocks"}, {"ready": True, "sort": "name"}):
        error = refusal(lambda: plan.search(Search(**wanted), ME))  # type: ignore[arg-type]  # noqa: B023
        assert (error.code, error.reason) == ("validation_error", "invalid_sort")


def test_next_takes_what_unblocks_most_and_says_why(plan: Tasks) -> None:
    first, *_ = made(
        plan,
        {"ref": "a", "name": "First"},
        {"ref": "b", "name": "Second", "blockers": ["a"]},
        {"name": "Third", "blockers": ["b"]},
        {"name": "Urgent", "priority": 5},
    )

    taken = edit(plan, "next")
    other = edit(plan, "next")

    assert taken["task_id"] == first
    assert taken["why"] == ("Unblocks the most: 2 open tasks wait for it, 1 of them directly.")
    assert other["name"] == "Urgent"
    assert other["why"].startswith("Nothing waits for it")
    _, following = plan.edit([{"action": "complete", "task_id": first}, {"action": "next"}], ME)
    assert following["name"] == "Second"


def test_where_a_task_was_discovered_is_told_on_both_sides(plan: Tasks) -> None:
    origin, found, both = made(
        plan,
        {"ref": "o", "name": "Origin"},
        {"name": "Found", "discovered_from": "o"},
        {"name": "Later"},
    )
    edit(plan, "update", both, discovered_from=origin[:8])

    assert get(plan, found)["discovered_from"] == origin
    assert get(plan, origin)["discovered"] == sorted([found, both])
    assert len(plan.get([found], depth=1)) == 2
    assert names(plan, ready=True) == ["Origin", "Found", "Later"]
    edit(plan, "update", both, discovered_from="")
    assert "discovered_from" not in get(plan, both)
    edit(plan, "delete", origin)  # where it was found stays true
    assert get(plan, found)["discovered_from"] == origin


def with_settings(tasks: Tasks, **settings: Any) -> Tasks:
    tasks.plan = replace(tasks.plan, **settings)
    return tasks


def test_a_task_is_done_when_its_conditions_hold(plan: Tasks, tmp_path: Path) -> None:
    program = "import os,sys; print('2 failed'); sys.exit(not os.path.exists('ok'))"
    conditions = {
        "tests": Condition("tests", (sys.executable, "-c", program)),
        "notes": Condition("notes", file="NOTES.md"),
    }
    with_settings(plan, conditions=conditions, folder=tmp_path)
    (one,) = create(plan, "One", done_when=["tests", "notes"])

    failed = refusal(lambda: edit(plan, "complete", one))
    (tmp_path / "ok").touch()
    missing = refusal(lambda: edit(plan, "update", one, status="completed"))

    assert (failed.code, failed.reason) == ("conflict", "not_done")
    assert "2 failed" in failed.message
    assert "NOTES.md is not there" in missing.message
    (view,) = plan.edit([{"action": "complete", "task_id": one}], ME, dry_run=True)
    assert "Not looked at in a dry run: tests, notes." in str(view["warnings"])
    (tmp_path / "NOTES.md").touch()
    assert edit(plan, "complete", one)["status"] == "completed"
    assert get(plan, one)["done_when"] == ["tests", "notes"]


def test_a_condition_that_nobody_knows_here_keeps_a_task_open(plan: Tasks) -> None:
    (one,) = create(plan, "One", done_when=["deployed"])

    error = refusal(lambda: edit(plan, "complete", one))

    assert error.reason == "condition_unknown"
    assert "[done_conditions.deployed]" in error.suggestions[0]
    plan.edit([{"action": "complete", "task_id": one}], ME, force=True)  # a person's word
    assert get(plan, one)["status"] == "completed"


def test_a_condition_is_told_the_task_and_stopped_in_time(plan: Tasks, tmp_path: Path) -> None:
    told = "import os; open('told', 'w').write(os.environ['TASKY_TASK_ID'])"
    conditions = {
        "told": Condition("told", (sys.executable, "-c", told)),
        "slow": Condition("slow", (sys.executable, "-c", "input()"), seconds=0.2),
        "stuck": Condition(
            "stuck", (sys.executable, "-c", "import time; time.sleep(600)"), seconds=0.2
        ),
        "gone": Condition("gone", ("no-such-program",)),
    }
    with_settings(plan, conditions=conditions, folder=tmp_path)
    (one,) = create(plan, "One", done_when=["told"])
    edit(plan, "complete", one)
    assert (tmp_path / "told").read_text() == one

    said = {}
    for name in ("slow", "stuck", "gone"):
        (other,) = create(plan, name, done_when=[name])
        said[name] = refusal(lambda: edit(plan, "complete", other)).message  # noqa: B023
    assert "ended with 1" in said["slow"] or "took over" in said["slow"]
    assert "took over 0.2 seconds" in said["stuck"]
    assert "cannot be run" in said["gone"]


def test_only_a_persons_own_settings_say_what_a_condition_runs(ann: Person) -> None:
    """A cloned plan runs nothing: what its own settings say of conditions is not read."""
    ann("project", "init")
    own = ann.folder / ".tasky" / "config.toml"
    command = json.dumps([sys.executable, "-c", "open('ran', 'w')"])
    own.write_text(own.read_text() + f"\n[done_conditions.build]\nrun = {command}\n")
    ann("add", "Build", "--done-when", "build")
    (row,) = ann.data("list")["tasks"]

    refused = ann.run("done", row["task_id"])
    assert "your settings do not say what that means" in refused.stderr
    assert not (ann.folder / "ran").exists()
    (ann.home / ".tasky" / "config.toml").write_text(f"[done_conditions.build]\nrun = {command}\n")
    (ann.folder / "sub").mkdir()
    replace(ann, folder=ann.folder / "sub")("done", row["task_id"])
    assert (ann.folder / "ran").exists()


@pytest.mark.parametrize(
    ("step", "ends"),
    [
        (["edit", "$TASKY_TASK_ID", "--name", "renamed $n"], "completed"),
        (["done", "$TASKY_TASK_ID"], "pending"),
    ],
)
def test_a_condition_that_changes_or_completes_its_own_task_runs_once(
    ann: Person, step: list[str], ends: str
) -> None:
    ann("project", "init")
    words = " ".join(f'"{word}"' for word in (COMMAND, *step))
    # It gives up by itself where it is started again and again.
    script = f"echo ran >> ran; n=$(wc -l < ran); [ $n -lt 4 ] && {words}"
    settings = ann.home / ".tasky" / "config.toml"
    settings.write_text(f"[done_conditions.own]\nrun = {json.dumps(['sh', '-c', script])}\n")
    ann("add", "Own", "--done-when", "own")
    (row,) = ann.data("list")["tasks"]

    said = ann.run("done", row["task_id"]).stderr

    assert (ann.folder / "ran").read_text() == "ran\n"
    assert ann.data("show", row["task_id"])[0]["status"] == ends
    assert ("cannot complete it" in said) == (ends == "pending")


def test_conditions_that_complete_each_others_tasks_end(ann: Person) -> None:
    ann("project", "init")
    others = {"ping": "pong", "pong": "ping"}
    for name in others:
        ann("add", name, "--done-when", name)
    ids = {row["name"]: row["task_id"] for row in ann.data("list")["tasks"]}
    words = f'"{COMMAND}" done'
    told = ""
    for name, other in others.items():
        # It gives up by itself where it is started again and again.
        script = f"echo {name} >> ran; n=$(wc -l < ran); [ $n -lt 9 ] && {words} {ids[other]}"
        told += f"[done_conditions.{name}]\nrun = {json.dumps(['sh', '-c', script])}\n"
    (ann.home / ".tasky" / "config.toml").write_text(told)

    said = ann.run("done", ids["ping"]).stderr

    assert "cannot complete it" in said
    assert (ann.folder / "ran").read_text() == "ping\npong\n"
    assert {row["status"] for row in ann.data("list", "--status", "all")["tasks"]} == {"pending"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "either run or file"),
        ('x.run = ["x"]\nx.file = "y"', "either run or file"),
        ("x = 3", "either run or file"),
        ("x.run = []", "run must be a list of texts"),
        ('x.run = "make"', "run must be a list of texts"),
        ('x.run = [""]', "run must be a list of texts"),
        ('x.run = ["make", "\\u0000"]', "run must be a list of texts"),
        ('x.file = ""', "file must be a path"),
        ('x.file = "x"\nx.shell = true', "'shell'"),
        ('x.run = ["x"]\nx.timeout_seconds = 0', "timeout_seconds"),
        ('x.run = ["x"]\nx.timeout_seconds = inf', "timeout_seconds"),
    ],
)
def test_a_condition_must_have_a_program_or_a_file(said: str, why: str, tmp_path: Path) -> None:
    error = refusal(lambda: _project_with(f"[done_conditions]\n{said or 'x = {}'}\n", tmp_path))

    assert isinstance(error, InvalidError)
    assert why in error.message


@pytest.mark.parametrize("said", ["done_conditions = 3", "[[done_conditions]]\nx = 3"])
def test_conditions_must_be_a_table(said: str, tmp_path: Path) -> None:
    error = refusal(lambda: _project_with(f"{said}\n", tmp_path))

    assert "[done_conditions]" in error.message
    assert "must be a table" in error.message


def _project_with(settings: str, folder: Path) -> None:
    home = Home(folder / "home" / ".tasky", {})
    (folder / "plan" / ".tasky").mkdir(parents=True)
    home.folder.mkdir(parents=True)
    (home.folder / "config.toml").write_text(settings)
    home.project(folder / "plan")


def test_an_unmet_condition_tells_the_end_of_what_was_said_and_not_how_it_was_called(
    tmp_path: Path,
) -> None:
    program = (
        "import sys\nfor n in range(200_000): print(n)\nprint('\\x1b[31mred\\x07'); sys.exit(3)"
    )
    condition = Condition("tests", (sys.executable, "-c", program, "--token=s3cret"))

    said = condition.unmet(tmp_path, {}, lambda: None)

    assert said is not None
    assert said.startswith("it ended with 3: ")
    assert said.endswith("199999\nred")
    assert len(said) < 700
    assert "s3cret" not in said


@pytest.mark.parametrize("file", ["~nobody-of-this-name/x", "x" * 5_000])
def test_a_file_that_no_system_can_have_is_not_there(file: str, tmp_path: Path) -> None:
    assert Condition("odd", file=file).unmet(tmp_path, {}, lambda: None)


def test_the_hint_for_an_odd_name_can_be_copied(plan: Tasks) -> None:
    (one,) = create(plan, "One", done_when=['a "b"'])

    hint = refusal(lambda: edit(plan, "complete", one)).suggestions[0]

    table = hint.partition(": ")[2].partition(" with")[0]
    assert tomllib.loads(table) == {"done_conditions": {'a "b"': {}}}
    error = refusal(lambda: create(plan, "Two", done_when=["a\nb"]))
    assert "more than a line" in error.message


def test_a_parent_closes_with_its_parts_where_the_settings_say_so(plan: Tasks) -> None:
    with_settings(plan, closes_parents=True)
    top, middle, one, two = made(
        plan,
        {"ref": "top", "name": "Top"},
        {"ref": "middle", "name": "Middle", "subtask_of": "top"},
        {"name": "One", "subtask_of": "middle"},
        {"name": "Two", "subtask_of": "middle"},
    )

    edit(plan, "complete", one)
    assert get(plan, middle)["status"] == "pending"
    view = edit(plan, "cancel", two)

    assert get(plan, top)["status"] == get(plan, middle)["status"] == "completed"
    assert "“Middle” was completed with the last of its parts." in str(view["warnings"])
    plan.edit([{"action": "undo"}], ME)
    assert {get(plan, key)["status"] for key in (top, middle, two)} == {"pending"}


def test_a_parent_that_cannot_be_completed_stays_open_and_that_is_told(plan: Tasks) -> None:
    with_settings(plan, closes_parents=True)
    parent, part, other = made(
        plan,
        {"ref": "p", "name": "Parent", "blockers": ["o"]},
        {"name": "Part", "subtask_of": "p"},
        {"ref": "o", "name": "Other"},
    )

    view = edit(plan, "complete", part)

    assert "it stays open: it waits for “Other”" in str(view["warnings"])
    assert get(plan, parent)["status"] == "pending"
    edit(plan, "reopen", part)
    edit(plan, "complete", other)
    edit(plan, "update", parent, done_when=["never"])
    assert "'never'" in str(edit(plan, "complete", part)["warnings"])


def test_completing_a_task_that_waits_warns_or_is_refused(plan: Tasks) -> None:
    dig, sow = create(plan, "Dig", "Sow")
    edit(plan, "update", sow, blockers=[dig])

    assert "it waited for open tasks: “Dig”" in str(edit(plan, "complete", sow)["warnings"])
    edit(plan, "reopen", sow)
    with_settings(plan, refuses_blocked=True)
    error = refusal(lambda: edit(plan, "complete", sow))
    assert (error.code, error.reason) == ("conflict", "blocked")
    assert refusal(lambda: edit(plan, "update", sow, status="completed")).reason == "blocked"
    plan.edit([{"action": "complete", "task_id": sow}], ME, force=True)


def test_how_a_plan_closes_is_set_in_its_folder(ann: Person) -> None:
    ann("project", "init")
    own = ann.folder / ".tasky" / "config.toml"
    own.write_text(own.read_text() + "\n[planning]\nclose_parents = true\nrefuse_blocked = true\n")

    project = Home(ann.home / ".tasky", {}).project(ann.folder)

    assert (project.closes_parents, project.refuses_blocked) == (True, True)
    own.write_text(own.read_text().replace("close_parents = true", "close_parents = 7"))
    assert "planning.close_parents is 7" in ann.run("list").stderr
    own.write_text(own.read_text().replace("close_parents = 7", "close_parent = true"))
    assert "close_parent is not a setting" in ann.run("list").stderr
    assert "Did you mean close_parents?" in ann.run("list").stderr


def test_many_parts_under_one_that_waits_are_held_up_and_freed(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    gate, *_ = made(
        plan,
        {"ref": "gate", "name": "Gate"},
        {"ref": "root", "name": "Root", "blockers": ["gate"]},
        *(
            {"ref": f"n{n}", "name": f"N{n}", "subtask_of": f"n{n - 1}" if n else "root"}
            for n in range(300)
        ),
    )

    assert plan.search(Search(ready=True), ME).total == 1
    edit(plan, "complete", gate)
    assert plan.search(Search(ready=True), ME).total == 301


def test_parts_of_an_inner_part_that_waits_stay_held_up_when_the_whole_is_freed(
    plan: Tasks,
) -> None:
    chain = [
        {"ref": f"n{n}", "name": f"N{n}", "subtask_of": f"n{n - 1}" if n else "root"}
        for n in range(10)
    ]
    chain[5]["blockers"] = ["other"]
    gate, other, *_ = made(
        plan,
        {"ref": "gate", "name": "Gate"},
        {"ref": "other", "name": "Other"},
        {"ref": "root", "name": "Root", "blockers": ["gate"]},
        *chain,
    )

    edit(plan, "complete", gate)
    assert names(plan, ready=True) == ["Other", "Root", "N0", "N1", "N2", "N3", "N4"]
    edit(plan, "complete", other)
    assert plan.search(Search(ready=True), ME).total == 11
    edit(plan, "reopen", gate)
    assert names(plan, ready=True) == ["Gate"]
