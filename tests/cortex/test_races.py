"""Many agents at once: one branch, one winner, no lost task, and every other one told."""

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git


def race(ctx: Ctx, places: list[Path], *words: str) -> list[dict[str, object]]:
    """Run the same command in all places at once; the answers of those that succeeded."""
    processes = [ctx.process(*words, "--json", at=place) for place in places]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert all(answer["success"] for answer in answers), answers
    return answers


def clones(repo: Repo, count: int) -> list[Repo]:
    made = []
    for number in range(count):
        git(repo.folder.parent, "clone", "-q", str(repo.bare), f"clone{number}")
        made.append(Repo(repo.folder.parent / f"clone{number}", repo.bare))
    return made


@pytest.mark.parametrize("agents", [3, pytest.param(10, marks=pytest.mark.torture)])
def test_in_one_clone_one_agent_wins_and_the_others_are_told(
    ctx: Ctx, repo: Repo, agents: int
) -> None:
    ctx.set(timeout="60")
    number = ctx.new()
    answers = race(ctx, [repo.folder] * agents, "tasks", "start", str(number))
    assert [answer["already"] for answer in answers].count(False) == 1
    assert {answer["branch"] for answer in answers} == {repo.branch()}
    assert repo.branches() == {"main", repo.branch()}


@pytest.mark.parametrize("agents", [3, pytest.param(10, marks=pytest.mark.torture)])
def test_in_clones_of_their_own_one_agent_wins_on_the_same_branch(
    online: Ctx, repo: Repo, agents: int
) -> None:
    online.set(timeout="60")
    number = online.new()
    places = clones(repo, agents)
    answers = race(online, [one.folder for one in places], "tasks", "start", str(number))
    assert [answer["already"] for answer in answers].count(False) == 1
    assert {one.branch() for one in places} == {answers[0]["branch"]}


@pytest.mark.parametrize("agents", [4, pytest.param(16, marks=pytest.mark.torture)])
def test_tasks_made_at_once_on_first_use_are_all_kept(home: Path, agents: int) -> None:
    ctx = Ctx(home)
    ctx.set(url="local")
    processes = [ctx.process("tasks", "new", f"T{n}", "--json", at=home) for n in range(agents)]
    made = [json.loads(process.communicate(timeout=60)[0])["task_id"] for process in processes]
    assert sorted(made) == list(range(1, agents + 1))
    assert len(ctx.json("tasks", "list")["tasks"]) == agents


def test_local_tasks_that_another_ctx_is_making_are_waited_for(home: Path) -> None:
    ctx = Ctx(home)
    ctx.set(url="local")
    with closing(sqlite3.connect(ctx.config_file.with_name("tasks.db"), timeout=0)) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")  # as SQLite does itself where a file is given its log
        waiting = ctx.process("tasks", "new", "T", "--json", at=home)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(2)
        other.execute("COMMIT")
    assert json.loads(waiting.communicate(timeout=60)[0])["task_id"] == 1


def test_settings_changed_at_once_are_all_kept(ctx: Ctx) -> None:
    keys = ["git_timeout", "default_project_id", "timeout"]
    processes = [ctx.process("config", "set", key, "7", at=ctx.home) for key in keys]
    assert [process.wait(30) for process in processes] == [0, 0, 0]
    for process in processes:
        process.communicate()
    kept = json.loads(ctx.config_file.read_text())
    assert [kept[key] for key in keys] == [7, 7, 7]


def test_nobody_waits_for_a_hook_or_a_slow_push(ctx: Ctx, repo: Repo, tmp_path: Path) -> None:
    one, two, three = (ctx.new(name) for name in ("One", "Two", "Three"))
    ctx.json("tasks", "start", str(one), at=repo.folder)
    repo.write("README", "one\n")
    began, go = tmp_path / "began", tmp_path / "go"
    repo.hook("pre-push", f"touch {began}; while [ ! -e {go} ]; do sleep 0.02; done")
    pushing = ctx.process("tasks", "pr", "-m", "One", "--json", at=repo.folder)
    wait_for(began)

    apart = ctx.json("tasks", "start", str(two), "--worktree", at=repo.folder)
    here = ctx.json("tasks", "start", str(three), at=repo.folder)
    assert pushing.poll() is None
    go.touch()
    answer = json.loads(pushing.communicate(timeout=60)[0])

    assert answer["success"], answer
    assert git(repo.folder, "show", f"origin/{answer['branch']}:README") == "one"
    assert {apart["branch"], here["branch"]} <= repo.branches()
    assert [ctx.task(number)["status"] for number in (one, two, three)] == [
        "REVIEW",
        "IN_PROGRESS",
        "IN_PROGRESS",
    ]


def test_a_start_beside_a_slow_commit_gets_a_folder_of_its_own(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    one, two = ctx.new("One"), ctx.new("Two")
    ctx.json("tasks", "start", str(one), at=repo.folder)
    repo.write("README", "one\n")
    began, go = tmp_path / "began", tmp_path / "go"
    repo.hook("pre-commit", f"touch {began}; while [ ! -e {go} ]; do sleep 0.02; done")
    committing = ctx.process("tasks", "pr", "-m", "One", "--json", at=repo.folder)
    wait_for(began)
    start = ctx.json("tasks", "start", str(two), "--worktree", at=repo.folder)
    assert Path(start["worktree"]).is_dir()
    assert committing.poll() is None
    go.touch()
    assert json.loads(committing.communicate(timeout=60)[0])["success"]


def test_undo_does_not_take_back_what_is_still_at_work(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.write("README", "one\n")
    began, go = tmp_path / "began", tmp_path / "go"
    repo.hook("pre-push", f"touch {began}; while [ ! -e {go} ]; do sleep 0.02; done")
    pushing = ctx.process("tasks", "pr", "-m", "One", "--json", at=repo.folder)
    wait_for(began)
    run = ctx.fails("undo", at=repo.folder)
    go.touch()
    assert (run.code, run.reason) == (9, "repository_locked")
    assert json.loads(pushing.communicate(timeout=60)[0])["success"]
    assert ctx.json("undo", at=repo.folder)["undone"] == "pr"


def wait_for(path: Path) -> None:
    """Wait until a hook has made a file."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
