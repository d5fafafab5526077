"""Each agent in its own room: no task's work comes into another's, and a worktree works at once."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from cortex_lab import Ctx, Repo, git
from mcp_host.testing import CallFailed, Hosted, hosted

pytestmark = pytest.mark.anyio


@pytest.fixture
def at_home(ctx: Ctx, monkeypatch: pytest.MonkeyPatch) -> Ctx:
    """Somebody in local mode, whose home is this process's home too."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(ctx.home / name))
    monkeypatch.setenv("HOME", str(ctx.home))
    return ctx


@asynccontextmanager
async def alone(root: Path, **settings: Any) -> AsyncIterator[Hosted]:
    tables = {"packs": {"cortex": {"settings": settings}}}
    packs = {"cortex": "mcp_host_cortex_tasks.plugin"}
    async with hosted(packs, tables, root=root, alone=True) as host:
        yield host


async def test_a_free_folder_is_switched_in_place(at_home: Ctx, repo: Repo) -> None:
    number = at_home.json("tasks", "new", "Mend", "-d", "The roof leaks.")["task_id"]
    async with alone(repo.folder) as host:
        (row,) = (await host.value("list_tasks"))["tasks"]
        assert row["description"] == "The roof leaks."
        answer = await host.value("start_task", task_id=number)
    assert answer["project"] == str(repo.folder)
    assert "worktree" not in answer
    assert (answer["base"], answer["description"]) == ("main", "The roof leaks.")
    assert repo.branch() == answer["branch"]


async def test_a_task_begun_on_another_ones_changes_gets_a_worktree_and_they_stay(
    at_home: Ctx, repo: Repo
) -> None:
    one, two = at_home.new("One"), at_home.new("Two")
    async with alone(repo.folder) as host:
        first = await host.value("start_task", task_id=one)
        repo.write("README", "work on one\n")
        second = await host.value("start_task", task_id=two)
        assert second["project"] == second["worktree"] != str(repo.folder)
        assert (repo.branch(), (repo.folder / "README").read_text()) == (
            first["branch"],
            "work on one\n",
        )
        tree = Repo(Path(second["worktree"]), repo.bare)
        tree.write("README", "work on two\n")
        await host.value("submit_pr", commit_message="Two", task_id=two)
        await host.value("submit_pr", commit_message="One", task_id=one)
    for branch, text in ((first["branch"], "work on one"), (second["branch"], "work on two")):
        assert git(repo.bare, "show", f"{branch}:README") == text
        assert git(repo.bare, "rev-list", "--count", f"main..{branch}") == "1"


async def test_two_starts_at_once_end_in_two_folders(at_home: Ctx, repo: Repo) -> None:
    numbers = [at_home.new("One"), at_home.new("Two")]
    answers: list[dict[str, Any]] = []
    async with alone(repo.folder) as host:

        async def start(number: int) -> None:
            answers.append(await host.value("start_task", task_id=number))

        async with anyio.create_task_group() as group:
            for number in numbers:
                group.start_soon(start, number)
    assert len({answer["project"] for answer in answers}) == 2
    for answer in answers:
        assert Repo(Path(answer["project"]), None).branch() == answer["branch"]


async def test_a_task_of_another_session_keeps_its_folder(at_home: Ctx, repo: Repo) -> None:
    one, two = at_home.new("One"), at_home.new("Two")
    async with alone(repo.folder) as first, alone(repo.folder) as second:
        mine = await first.value("start_task", task_id=one)
        theirs = await second.value("start_task", task_id=two)
        assert (mine["project"], repo.branch()) == (str(repo.folder), mine["branch"])
        assert theirs["project"] != mine["project"]
        standing = await second.value("get_task_status")
        assert (standing["branch"], standing["task_id"]) == (theirs["branch"], two)
        Repo(Path(theirs["project"]), None).write("README", "theirs\n")
        submitted = await second.value("submit_pr", commit_message="Theirs")
        assert submitted["task_id"] == two


async def test_where_it_is_not_clear_which_task_is_meant_the_refusal_lists_them(
    at_home: Ctx, repo: Repo
) -> None:
    numbers = [at_home.new("One"), at_home.new("Two")]
    async with alone(repo.folder, worktree="always") as host:
        for number in numbers:
            await host.value("start_task", task_id=number)
        with pytest.raises(CallFailed) as refused:
            await host.value("submit_pr", commit_message="Which?")
    assert refused.value.envelope["details"]["reason"] == "task_required"
    assert refused.value.envelope["details"]["tasks"] == numbers


async def test_never_a_worktree_refuses_the_folder_that_is_taken(at_home: Ctx, repo: Repo) -> None:
    one, two = at_home.new("One"), at_home.new("Two")
    async with alone(repo.folder, worktree="never") as host:
        await host.value("start_task", task_id=one)
        repo.write("README", "work on one\n")
        with pytest.raises(CallFailed) as refused:
            await host.value("start_task", task_id=two)
    assert refused.value.envelope["details"]["reason"] == "folder_taken"
    assert refused.value.envelope["details"]["files"] == ["README"]
    assert at_home.task(two)["status"] == "TODO"


def test_the_command_never_carries_a_tasks_changes_away(ctx: Ctx, repo: Repo) -> None:
    one, two = ctx.new("One"), ctx.new("Two")
    branch = ctx.json("tasks", "start", str(one), at=repo.folder)["branch"]
    repo.write("new.txt", "work on one\n")
    run = ctx.fails("tasks", "start", str(two), at=repo.folder)
    assert (run.reason, run.data["details"]["files"]) == ("folder_taken", ["new.txt"])
    assert repo.branch() == branch
    (repo.folder / "new.txt").unlink()
    repo.write(".tasky/plan.json", "{}\n")
    ctx.json("tasks", "start", str(two), at=repo.folder)  # what pr leaves out takes no folder


def test_the_command_makes_a_worktree_unless_told_otherwise(ctx: Ctx, repo: Repo) -> None:
    assert ctx("config", "unset", "use_worktree").code == 0
    answer = ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    assert Path(answer["worktree"]).is_dir()
    assert repo.branch() == "main"
    here = ctx.json("tasks", "start", str(ctx.new()), "--no-worktree", at=repo.folder)
    assert (repo.branch(), "worktree" in here) == (here["branch"], False)


def test_a_new_worktree_has_what_it_includes_and_is_set_up(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    repo.write(".gitignore", ".env*\n*.db\nnode_modules\n")
    repo.write(".worktreeinclude", ".env*\n!.env.old\nnode_modules\nREADME\nnotes\n")
    repo.git("add", "--all")
    repo.git("commit", "-qm", "Ignore")
    repo.git("push", "-q", "origin", "main")
    for name in (".env", ".env.old", "data.db", "node_modules/a/index.js", "notes", "sub/.env"):
        repo.write(name, f"{name}\n")
    script = tmp_path / "set up.py"
    script.write_text("import pathlib; pathlib.Path('ready').write_text('yes')\n")
    ctx.set(worktree_folder=str(tmp_path / "rooms"), worktree_setup=f"{sys.executable} '{script}'")

    answer = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)

    place = Path(answer["worktree"])
    assert place.is_relative_to(tmp_path / "rooms")
    there = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert {".env", "sub/.env", "node_modules/a/index.js", "ready"} <= there
    assert not {".env.old", "data.db", "notes"} & there


def test_a_set_up_command_that_fails_is_told_and_the_worktree_is_there(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(worktree_setup=f"{sys.executable} -c 'import sys; sys.exit(\"no network\")'")
    answer = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
    assert "ended with 1: no network" in answer["warnings"][0]
    assert Path(answer["worktree"], "README").exists()


def test_a_remote_by_a_relative_path_is_reached_from_a_worktree(ctx: Ctx, repo: Repo) -> None:
    repo.git("remote", "set-url", "origin", "../app.git")
    number = ctx.new()
    start = ctx.json("tasks", "start", str(number), "--worktree", at=repo.folder)
    tree = Repo(Path(start["worktree"]), repo.bare)
    tree.write("README", "work\n")
    assert "warnings" not in start
    ctx.json("tasks", "pr", "-m", "Work", at=tree.folder)
    assert git(repo.bare, "rev-parse", start["branch"]) == tree.tip()
    repo.merge_on_remote(start["branch"])
    assert ctx.json("tasks", "done", at=tree.folder)["proof"] == "ancestor"


def test_a_bare_repository_with_worktrees_goes_from_start_to_done(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    ctx.set(delete_worktree_on_done="true", delete_local_on_done="true")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "clone", "-q", "--bare", str(repo.bare), ".bare")
    (project / ".git").write_text("gitdir: ./.bare\n")
    git(project, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git(project, "config", "user.name", "Ann")
    git(project, "config", "user.email", "ann@example.com")
    git(project, "fetch", "-q", "origin")
    number = ctx.new()

    start = ctx.json("tasks", "start", str(number), at=project)
    tree = Repo(Path(start["worktree"]), repo.bare)
    assert tree.folder.is_relative_to(tmp_path)
    assert ".bare" not in tree.folder.name
    tree.write("README", "work\n")
    ctx.json("tasks", "pr", "-m", "Work", at=tree.folder)
    repo.merge_on_remote(start["branch"])
    answer = ctx.json("tasks", "done", at=tree.folder)

    assert answer["cleaned"] == ["worktree", "local_branch"]
    assert ctx.task(number)["status"] == "DONE"
