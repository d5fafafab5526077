"""One plan wherever you stand in a repository, and plans that git merges: with real git."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp_host_tasky.service import Plan, Search, Tasks
from mcp_host_tasky.storage import Home, open_store
from tasky_lab import ME, Person, create, edit, get, items, names, refusal

WHO = {
    f"GIT_{role}_{part}": f"a@{part}"
    for role in ("AUTHOR", "COMMITTER")
    for part in ("NAME", "EMAIL")
}


@dataclass
class Place:
    """A folder in which somebody runs git and tasky."""

    folder: Path
    home: Path

    def run(self, *argv: str, fails: bool = False) -> str:
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env={**os.environ, **WHO, "HOME": str(self.home), "TZ": "UTC", "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def git(self, *argv: str, fails: bool = False) -> str:
        return self.run("git", "-c", "init.defaultBranch=main", *argv, fails=fails)

    def tasky(self, *argv: str, fails: bool = False) -> str:
        done = Person(self.home, self.folder).run(*argv)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def names(self) -> list[str]:
        rows = json.loads(self.tasky("list", "--json", "--limit", "200"))["tasks"]
        return sorted(row["name"] for row in rows)

    def at(self, folder: str) -> "Place":
        return Place(self.folder / folder, self.home)

    def commit(self, message: str = "x") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def tasks(self) -> Tasks:
        home = Home.of_user({"HOME": str(self.home), "TZ": "UTC"})
        project = home.project(self.folder)
        return Tasks(open_store(project.location), Plan.of_project(project))


@pytest.fixture
def repository(tmp_path: Path) -> Place:
    (tmp_path / "home").mkdir()
    (tmp_path / "main").mkdir()
    place = Place(tmp_path / "main", tmp_path / "home")
    place.git("init", "-q")
    (place.folder / "sub").mkdir()
    (place.folder / "sub" / "code.txt").write_text("x")
    place.commit()
    return place


@pytest.mark.parametrize("store", ["sqlite", "json"])
@pytest.mark.parametrize("ignored", [True, False])
def test_every_worktree_uses_the_main_worktrees_plan(
    repository: Place, store: str, ignored: bool
) -> None:
    if ignored:
        (repository.folder / ".gitignore").write_text(".tasky/\n")
        repository.commit()
    repository.git("worktree", "add", "-q", "../other")
    other = repository.at("../other")
    other.tasky("project", "init", "--store", store)  # made where all worktrees share it
    other.tasky("add", "From the worktree")
    repository.tasky("add", "From the main one")

    both = ["From the main one", "From the worktree"]
    assert repository.names() == other.names() == other.at("sub").names() == both
    assert (repository.folder / ".tasky").is_dir()
    assert not (other.folder / ".tasky").exists()
    assert len(json.loads(repository.tasky("project", "list", "--json"))) == 1


def test_a_sub_folders_plan_is_found_at_the_same_sub_folder(repository: Place) -> None:
    repository.at("sub").tasky("project", "init")
    repository.at("sub").tasky("add", "Below")
    repository.git("worktree", "add", "-q", "../other")

    assert repository.at("../other/sub").names() == ["Below"]
    assert "no Tasky project" in repository.at("../other").tasky("list", fails=True)


def test_worktrees_of_a_bare_repository_share_a_plan_in_it(repository: Place) -> None:
    repository.git("clone", "-q", "--bare", ".", "../bare.git")
    bare = repository.at("../bare.git")
    bare.git("worktree", "add", "-q", "../one", "main")
    bare.git("worktree", "add", "-q", "../two", "-b", "two")
    one, two = repository.at("../one"), repository.at("../two")

    one.tasky("project", "init")
    two.tasky("add", "Shared")

    assert one.names() == ["Shared"]
    assert list(bare.folder.glob("tasky/plans/.tasky/tasks.db"))
    assert not (two.folder / ".tasky").exists()


def test_only_worktrees_that_git_lists_count(repository: Place, tmp_path: Path) -> None:
    repository.tasky("project", "init")
    repository.git("worktree", "add", "-q", "../other")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text((tmp_path / "other" / ".git").read_text())

    assert repository.at("../other").names() == []
    assert "no Tasky project" in repository.at("../stranger").tasky("list", fails=True)


def test_a_worktree_that_was_moved_by_hand_says_what_brings_its_plan_back(
    repository: Place, tmp_path: Path
) -> None:
    repository.tasky("project", "init")
    repository.tasky("add", "There")
    repository.git("worktree", "add", "-q", "../other")
    (tmp_path / "other").rename(tmp_path / "moved")
    moved = repository.at("../moved")

    told = moved.at("sub").tasky("list", fails=True)
    moved.git("worktree", "repair")

    assert (
        f"Run in {moved.folder.resolve()}, to see its repository's plan: git worktree repair"
        in told
    )
    assert "project init" not in told
    assert moved.names() == ["There"]


def test_a_worktree_whose_repository_was_moved_says_what_brings_its_plan_back(
    repository: Place, tmp_path: Path
) -> None:
    repository.tasky("project", "init")
    repository.tasky("add", "There")
    repository.git("worktree", "add", "-q", "../other")
    other = repository.at("../other")
    repository.folder.rename(tmp_path / "elsewhere")

    told = Place(tmp_path / "other", repository.home).tasky("list", fails=True)
    (command,) = (line for line in told.splitlines() if "git worktree repair" in line)
    Place(tmp_path / "elsewhere", repository.home).git(
        *command.rpartition(": git ")[2].split(), fails=False
    )

    assert f"no longer at {repository.folder}" in told
    assert "project init" not in told
    assert Place(tmp_path / "other", other.home).names() == ["There"]


@pytest.fixture
def tracked(repository: Place) -> Place:
    repository.tasky("project", "init", "--store", "json")
    repository.commit("a plan")
    return repository


def merged(
    tracked: Place, count: int, ours: Callable[[Tasks], object], theirs: Callable[[Tasks], object]
) -> str:
    """Let two branches work on a plan of so many tasks, and merge them."""
    plan = tracked.tasks()
    if count:
        create(plan, *(f"T{n:04}" for n in range(count)))
    tracked.git("add", "-A")
    tracked.git("commit", "-q", "--allow-empty", "-m", "plan")
    tracked.git("worktree", "add", "-q", "../branch")
    ours(tracked.tasks())
    theirs(tracked.at("../branch").tasks())
    for place in (tracked, tracked.at("../branch")):
        place.commit("work")
    assert tracked.git("status", "--short") == ""
    done = subprocess.run(
        ["git", "merge", "-q", "--no-edit", "branch"],
        cwd=tracked.folder,
        env={**os.environ, **WHO},
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.mark.parametrize("count", [0, 5, 20, 1_000])
def test_tasks_added_on_both_branches_never_conflict(tracked: Place, count: int) -> None:
    said = merged(
        tracked,
        count,
        lambda plan: create(plan, *(f"ours {n}" for n in range(5))),
        lambda plan: create(plan, *(f"theirs {n}" for n in range(5))),
    )

    assert "CONFLICT" not in said
    plan = tracked.tasks()
    assert plan.info()["total"] == count + 10
    found = names(plan, search="ours", limit=200) + names(plan, search="theirs", limit=200)
    assert found == [f"ours {n}" for n in range(5)] + [f"theirs {n}" for n in range(5)]
    assert plan.check() == []
    assert tracked.git("status", "--short") == ""
    (made,) = create(plan, "After")
    assert get(plan, made)["revision"] == 1
    assert "no damage" in tracked.tasky("check")


def test_edits_of_different_fields_merge_and_are_changes_from_elsewhere(tracked: Place) -> None:
    (task,) = create(tracked.tasks(), "Dig")

    said = merged(
        tracked,
        0,
        lambda plan: edit(plan, "update", task, priority=5),
        lambda plan: edit(plan, "update", task, name="Dig deep"),
    )

    assert "CONFLICT" not in said
    plan = tracked.tasks()
    seen = get(plan, task)
    assert (seen["name"], seen["priority"], seen["revision"]) == ("Dig deep", 5, 3)
    assert items(refusal(lambda: edit(plan, "undo", task)))[0]["reason"] == "changed_since"
    assert edit(plan, "complete", task)["revision"] == 4


def test_an_edit_of_the_same_field_conflicts_and_resolving_keeps_both_sides(
    tracked: Place,
) -> None:
    (task,) = create(tracked.tasks(), "Dig")
    said = merged(
        tracked,
        3,
        lambda plan: edit(plan, "update", task, name="Dig here", add_tags=["a"]),
        lambda plan: edit(plan, "update", task, name="Dig there", add_tags=["b"]),
    )
    assert "CONFLICT" in said

    told = tracked.tasky("list", fails=True)
    assert "both sides of a merge" in told
    assert task in told
    assert "tasky resolve" in told
    assert task in tracked.tasky("resolve")
    plan = tracked.tasks()
    seen = get(plan, task)
    assert (seen["name"], seen["tags"]) == ("Dig here", ["a", "b"])
    assert "Dig there" in seen["notes"][0]["text"]
    assert "event_id" not in seen  # a merge is no event
    assert plan.info()["total"] == 4
    tracked.commit("merged")
    assert "no damage" in tracked.tasky("check")


@pytest.mark.parametrize("deleted_by", ["ours", "theirs"])
def test_what_one_side_deleted_and_the_other_changed_stays_until_git_is_told(
    tracked: Place, deleted_by: str
) -> None:
    (task,) = create(tracked.tasks(), "Dig")

    def change(plan: Tasks) -> None:
        edit(plan, "update", task, priority=5)

    def delete(plan: Tasks) -> None:
        edit(plan, "delete", task)

    ours, theirs = (delete, change) if deleted_by == "ours" else (change, delete)
    assert "CONFLICT (modify/delete)" in merged(tracked, 3, ours, theirs)
    assert "tasky resolve" in tracked.tasky("check", fails=True)

    for _ in range(2):  # asked again, it says the same and notes nothing twice
        said = tracked.tasky("resolve")
        assert f"resolved: {tracked.folder}/.tasky/tasks/{task}.json" in said
        command = said.partition("Tell git with: ")[2].split()
    seen = get(tracked.tasks(), task)
    assert (seen["name"], seen["priority"]) == ("Dig", 5)
    (note,) = seen["notes"]
    side = "Our side" if deleted_by == "ours" else "The other side"
    assert note["text"].startswith(f"{side} of a merge deleted this task")

    tracked.run(*command)
    tracked.git("commit", "-q", "-m", "merged")
    assert "nothing to resolve" in tracked.tasky("resolve")
    assert "no damage" in tracked.tasky("check")


def test_a_task_deleted_after_such_a_conflict_is_told_to_git_the_same_way(tracked: Place) -> None:
    (task,) = create(tracked.tasks(), "Dig")
    merged(
        tracked,
        3,
        lambda plan: edit(plan, "update", task, priority=5),
        lambda plan: edit(plan, "delete", task),
    )
    tracked.tasky("delete", task)

    command = tracked.tasky("resolve").partition("Tell git with: ")[2].split()
    tracked.run(*command)
    tracked.git("commit", "-q", "-m", "merged")

    assert tracked.tasks().info()["total"] == 3
    assert "nothing to resolve" in tracked.tasky("resolve")


@pytest.mark.parametrize("details", ["", "Where the beds are, and how deep. " * 20])
def test_what_is_said_of_a_deleted_task_is_never_merged_into_a_new_one(
    tracked: Place, details: str
) -> None:
    (task,) = create(tracked.tasks(), "Write the docs", details=details)

    def replaced(plan: Tasks) -> None:
        edit(plan, "delete", task)
        create(plan, "Write the tests", details=details)

    said = merged(tracked, 3, lambda plan: edit(plan, "complete", task), replaced)

    assert "CONFLICT (modify/delete)" in said
    (new,) = tracked.tasks().search(Search(search="tests"), ME).rows
    assert new["status"] == "pending"


def test_the_claims_of_a_tracked_plan_are_shared_and_git_sees_nothing_of_them(
    tracked: Place,
) -> None:
    (task,) = create(tracked.tasks(), "Dig")
    tracked.commit("plan")
    tracked.git("worktree", "add", "-q", "../branch")
    here, there = tracked.tasks(), tracked.at("../branch").tasks()

    token = edit(here, "claim", task, agent="ann")["claim_token"]

    taken = refusal(lambda: edit(there, "claim", task, agent="ben"))
    assert taken.reason == "claimed"
    assert refusal(lambda: edit(there, "complete", task)).reason == "claimed"
    assert get(there, task)["claimed_by"] == "ann"
    assert get(there, task)["revision"] == get(here, task)["revision"]
    for place in (tracked, tracked.at("../branch")):
        assert place.git("status", "--short") == ""
    edit(there, "complete", task, token=token)
    assert "claimed_by" not in get(here, task)
    assert get(here, task)["status"] == "pending"
    edit(here, "claim", task, agent="ben")


def test_a_plan_of_the_one_file_format_is_upgraded_and_merges(tracked: Place) -> None:
    plan = tracked.tasks()
    first, second = create(plan, "Dig", "Sow")
    edit(plan, "update", second, blockers=[first])
    edit(plan, "note", second, note="Soon")
    edit(plan, "claim", first)
    history = plan.history()
    head = tracked.folder / ".tasky" / "tasks.json"
    beside = json.loads((head.parent / "tasks" / "local.json").read_text())
    tasks = {}
    for file in head.parent.glob("tasks/????????-*.json"):
        revision, updated_at, last_event, _ = beside["states"][file.stem]
        own = {"revision": revision, "updated_at": updated_at, "last_event": last_event}
        tasks[file.stem] = {**json.loads(file.read_text()), **own}
    claim = {"claimant": "me", "token": "x", "until": "2026-11-22T00:00:00Z"}
    tasks[first]["claim"] = claim
    for event in beside["events"]:
        del event["actor"], event["undo_key"]
    kept = {"events": beside["events"], "answers": {}}
    numbers = {"generation": 9, "last_number": 2}
    head.write_text(json.dumps({"version": "2.0", **numbers, "tasks": tasks, **kept}, indent=1))
    for file in head.parent.glob("tasks/*"):
        file.unlink()

    again = tracked.tasks()

    assert again.history() == history
    assert get(again, second)["blockers"] == [first]
    assert get(again, second)["notes"][0]["text"] == "Soon"
    assert edit(again, "undo")["blockers"] == []
    assert head.with_name("tasks.json.v2.0.bak").exists()
    again.create([{"name": "New"}], ME)
    assert tracked.names() == ["Dig", "New", "Sow"]


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_an_emptied_file_is_damage_and_no_new_plan(repository: Place, kind: str) -> None:
    repository.tasky("project", "init", "--store", kind)
    repository.tasky("add", "Dig")
    plan = repository.tasks()
    names(plan)
    place = repository.folder / ".tasky"
    (file,) = place.glob("tasks.db") if kind == "sqlite" else place.glob("tasks/????????-*.json")
    content = file.read_bytes()
    for wal in place.glob("tasks.db-*"):
        wal.unlink()

    file.write_bytes(b"")

    assert refusal(lambda: names(plan)).reason == "corrupt_store"
    plan.close()
    said = repository.tasky("project", "init", "--store", kind, fails=True)
    assert "intact" in said
    assert file.read_bytes() == b""
    if kind == "json":
        file.write_bytes(content)
        (place / "tasks.json").write_bytes(b"")
        assert "it is empty" in repository.tasky("list", fails=True)


def test_a_backup_is_a_plan_with_its_history(repository: Place) -> None:
    for store in ("sqlite", "json"):
        place = repository.at(store)
        place.folder.mkdir()
        place.tasky("project", "init", "--store", store)
        place.tasky("add", "Dig")
        place.tasky("backup", "copy.db")
        assert "already" in place.tasky("backup", "copy.db", fails=True)
        other = repository.at(f"{store}-restored")
        other.folder.mkdir()
        other.tasky("project", "init")
        for file in (other.folder / ".tasky").glob("tasks.db*"):
            file.unlink()
        (place.folder / "copy.db").rename(other.folder / ".tasky" / "tasks.db")
        assert other.names() == ["Dig"]
        assert "create" in other.tasky("log")


def test_check_finds_damage(repository: Place) -> None:
    repository.tasky("project", "init", "--store", "json")
    repository.tasky("add", "Dig")
    repository.tasky("add", "Sow")
    one, other = sorted((repository.folder / ".tasky" / "tasks").glob("????????-*.json"))
    data = json.loads(one.read_text())
    data["blockers"] = ["00000000-0000-4000-8000-000000000000"]
    one.write_text(json.dumps(data))

    assert "which is not there" in repository.tasky("check", fails=True)
    data["blockers"] = [other.stem]
    one.write_text(json.dumps(data))
    back = json.loads(other.read_text())
    back["blockers"] = [one.stem]
    other.write_text(json.dumps(back))
    assert "wait for each other" in repository.tasky("check", fails=True)
    other.write_text("{")
    said = repository.tasky("check", fails=True)
    assert other.name in said
