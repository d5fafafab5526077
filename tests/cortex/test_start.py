"""ctx tasks start: git first, the backend second, and every way it can be in the way."""

from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git, make_repo


def test_start_makes_a_branch_from_the_remotes_main_and_tells_the_backend(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    other = repo.folder.parent / "other"
    git(repo.folder.parent, "clone", "-q", str(repo.bare), str(other))
    newest = Repo(other, repo.bare).commit("new.txt")
    git(other, "push", "-q", "origin", "main")
    repo.git("switch", "-qc", "elsewhere")
    repo.commit("unrelated.txt")

    answer = ctx.json("tasks", "start", str(number), at=repo.folder)

    assert answer == {
        "success": True,
        "task_id": number,
        "branch": repo.branch(),
        "already": False,
        "project": str(repo.folder),
        "base": "main",
        "claim": "remote",
    }
    assert repo.tip() == newest
    task = ctx.task(number)
    assert (task["status"], task["branch_name"]) == ("IN_PROGRESS", repo.branch())
    assert repo.branch().startswith(f"feature/task-{number}-")


def test_starting_twice_finds_the_same_branch(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    first = ctx.json("tasks", "start", str(number), at=repo.folder)
    repo.git("switch", "-q", "main")

    again = ctx.json("tasks", "start", str(number), at=repo.folder)

    assert again == first | {"already": True}
    assert repo.branch() == first["branch"]
    assert repo.branches() == {"main", first["branch"]}


def test_a_second_clone_finds_the_branch_on_the_remote(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    tip = repo.commit()
    repo.git("push", "-q", "origin", "HEAD")
    git(tmp_path, "clone", "-q", str(repo.bare), "second")
    second = Repo(tmp_path / "second", repo.bare)

    answer = ctx.json("tasks", "start", str(number), at=second.folder)

    assert answer["already"] is True
    assert (second.branch(), second.tip()) == (branch, tip)


def test_without_a_repository_nothing_is_touched(ctx: Ctx) -> None:
    number = ctx.new()
    run = ctx.fails("tasks", "start", str(number))
    assert run.data["error"] == "Not in a git repository"
    assert (run.code, run.data["code"]) == (4, "not_found")
    assert ctx.task(number)["status"] == "TODO"


def test_without_git_it_says_so(ctx: Ctx, repo: Repo, tmp_path: Path) -> None:
    number = ctx.new()
    empty = tmp_path / "empty"
    empty.mkdir()
    run = ctx.run_process("tasks", "start", str(number), "--json", at=repo.folder, path=str(empty))
    assert (run.code, run.reason) == (11, "git_missing")
    assert ctx.task(number)["status"] == "TODO"


def test_uncommitted_changes_are_carried_where_git_can(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.write("README", "changed\n")
    repo.write("untracked.txt")
    ctx.json("tasks", "start", str(number), at=repo.folder)
    assert (repo.folder / "README").read_text() == "changed\n"
    assert repo.git("status", "--porcelain") == "M README\n?? untracked.txt"


def test_uncommitted_changes_that_would_be_lost_refuse_and_are_named(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.git("switch", "-qc", "elsewhere")
    repo.commit("README", "elsewhere\n")
    repo.write("README", "not committed\n")
    before = repo.picture()

    run = ctx.fails("tasks", "start", str(number), at=repo.folder)

    assert (run.code, run.reason) == (6, "uncommitted_changes")
    assert run.data["details"]["files"] == ["README"]
    assert repo.picture() == before
    assert ctx.task(number)["status"] == "TODO"


def test_a_branch_that_blocks_the_name_refuses_and_another_name_works(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.git("branch", "feature")
    before = repo.picture()

    run = ctx.fails("tasks", "start", str(number), at=repo.folder)

    assert run.reason == "branch_blocked"
    assert repo.picture() == before
    offered = run.data["suggestions"][1].split("--branch ")[1]
    assert ctx.json("tasks", "start", str(number), "--branch", offered, at=repo.folder)["success"]
    assert repo.branch() == offered
    assert ctx.task(number)["branch_name"] == offered
    run = ctx.fails("tasks", "start", str(ctx.new()), "--branch", "fix", at=repo.folder)
    assert run.data["suggestions"][1].endswith("--branch chore/fix")


def test_a_branch_of_another_task_is_not_taken(ctx: Ctx, repo: Repo) -> None:
    first, second = ctx.new(), ctx.new()
    taken = ctx.json("tasks", "start", str(first), at=repo.folder)["branch"]
    repo.git("branch", "private-work")
    before = repo.picture()

    run = ctx.fails("tasks", "start", str(second), "--branch", taken, at=repo.folder)
    assert (run.reason, f"task {first}" in run.data["error"]) == ("branch_taken", True)
    run = ctx.fails("tasks", "start", str(second), "--branch", "private-work", at=repo.folder)
    assert run.reason == "branch_taken"
    run = ctx.fails("tasks", "start", str(second), "--branch", "main", at=repo.folder)
    assert run.reason == "branch_taken"
    assert repo.picture() == before


@pytest.mark.parametrize(
    "name", ["--force", "-x", "a..b", "a b", "x.lock", "HEAD", "a\x01b", "a" * 300]
)
def test_branch_names_that_git_refuses_or_that_look_like_options_are_refused(
    ctx: Ctx, repo: Repo, name: str
) -> None:
    number = ctx.new()
    before = repo.picture()
    run = ctx.fails("tasks", "start", str(number), f"--branch={name}", at=repo.folder)
    assert (run.code, run.reason) == (2, "bad_branch_name")
    assert repo.picture() == before


def test_with_worktrees_each_task_has_a_folder_and_starting_again_returns_it(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(use_worktree="true")
    first, second = ctx.new(), ctx.new()
    one = ctx.json("tasks", "start", str(first), at=repo.folder)
    two = ctx.json("tasks", "start", str(second), at=repo.folder)
    again = ctx.json("tasks", "start", str(first), at=repo.folder)

    assert again == one | {"already": True}
    place = repo.folder.parent / "app-worktree" / f"{first}-{one['branch']}"
    assert Path(one["worktree"]) == place
    assert Repo(place, None).branch() == one["branch"]
    assert Repo(Path(two["worktree"]), None).branch() == two["branch"]
    assert repo.branch() == "main"


def test_a_worktree_deleted_by_hand_is_made_again(ctx: Ctx, repo: Repo) -> None:
    import shutil

    number = ctx.new()
    one = ctx.json("tasks", "start", str(number), "--worktree", at=repo.folder)
    shutil.rmtree(one["worktree"])
    again = ctx.json("tasks", "start", str(number), "--worktree", at=repo.folder)
    assert again == one | {"already": True}
    assert Repo(Path(one["worktree"]), None).branch() == one["branch"]


def test_offline_it_starts_from_what_is_known_and_says_so(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    assert repo.bare
    repo.git("fetch", "-q")
    repo.bare.rename(repo.bare.with_name("gone"))
    answer = ctx.json("tasks", "start", str(number), at=repo.folder)
    assert answer["already"] is False
    assert "cannot be reached" in answer["warnings"][0]


def test_a_failing_post_checkout_hook_is_no_failure_of_the_switch(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.hook("post-checkout", "exit 1")
    answer = ctx.json("tasks", "start", str(number), at=repo.folder)
    assert repo.branch() == answer["branch"]
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_repository_without_a_commit_is_refused(ctx: Ctx, tmp_path: Path) -> None:
    number = ctx.new()
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    run = ctx.fails("tasks", "start", str(number), at=tmp_path / "empty")
    assert run.code == 6
    assert ctx.task(number)["status"] == "TODO"


def test_a_dry_run_changes_nothing(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    before = repo.picture()
    answer = ctx.json("tasks", "start", str(number), "--dry-run", at=repo.folder)
    assert answer["would"][0].startswith("make and switch to the branch")
    assert repo.picture() == before
    assert not (repo.folder / ".git" / "cortex").exists()
    assert ctx.task(number)["status"] == "TODO"


def test_undo_takes_a_start_back_and_refuses_where_there_is_work(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    before = repo.picture()
    ctx.json("tasks", "start", str(number), at=repo.folder)
    assert ctx.json("undo", at=repo.folder)["undone"] == "start"
    assert repo.picture() == before
    task = ctx.task(number)
    assert (task["status"], task["branch_name"]) == ("TODO", None)

    ctx.json("tasks", "start", str(number), at=repo.folder)
    tip = repo.commit()
    run = ctx.fails("undo", at=repo.folder)
    assert run.reason == "moved_on"
    assert tip in repo.refs()


def test_a_task_that_is_done_starts_only_when_reopened(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    ctx.json("tasks", "start", str(number), at=repo.folder)
    ctx.json("tasks", "done", "--force", at=repo.folder)
    run = ctx.fails("tasks", "start", str(number), at=repo.folder)
    assert run.reason == "task_done"
    ctx.json("tasks", "start", str(number), "--reopen", at=repo.folder)
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_status_names_the_task_of_the_branch_and_needs_no_server(ctx: Ctx, tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    number = ctx.new()
    ctx.set(url="http://127.0.0.1:9/api/v1")
    on_main = ctx.json("tasks", "status", at=repo.folder)
    assert (on_main["branch"], on_main["is_task_branch"], on_main["task_id"]) == (
        "main",
        False,
        None,
    )
    repo.git("switch", "-qc", f"fix/task-{number}-0badcafe")
    on_task = ctx.json("tasks", "status", at=repo.folder)
    assert (on_task["is_task_branch"], on_task["task_id"]) == (True, number)
    repo.git("switch", "-q", "--detach")
    detached = ctx.json("tasks", "status", at=repo.folder)
    assert (detached["branch"], detached["is_task_branch"]) == (None, False)
    assert ctx.fails("tasks", "status").data["error"] == "Not in a git repository"


def test_a_refused_start_leaves_nothing_pending(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.hook("reference-transaction", "exit 1")
    assert ctx.fails("tasks", "start", str(number), at=repo.folder).reason == "switch_refused"
    (repo.folder / ".git" / "hooks" / "reference-transaction").unlink()
    assert "pending" not in ctx.json("tasks", "status", at=repo.folder)
    assert ctx.json("undo", at=repo.folder)["undone"] == "new"  # not the start


def test_status_for_people_says_what_is_open(ctx: Ctx, repo: Repo) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.write("README", "changed\n")
    repo.write("new.txt")
    run = ctx("tasks", "status", at=repo.folder)
    assert "1 changed, 1 new." in run.out.splitlines()
    ctx.set(url="http://127.0.0.1:9/api/v1", access_token="some-token")
    ctx.fails("tasks", "pr", "-m", "Work", at=repo.folder)
    pending = ctx("tasks", "status", at=repo.folder).out.splitlines()[-1]
    assert pending.startswith("Pending of pr of task 1: tell the backend")


def test_a_bisect_in_progress_is_ended_by_its_own_command(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.git("bisect", "start")
    run = ctx.fails("tasks", "start", str(number), at=repo.folder)
    assert run.reason == "operation_in_progress"
    assert run.data["suggestions"] == ["Finish it, or: git bisect reset"]


def test_a_remote_that_fails_is_told_with_its_cause(ctx: Ctx, repo: Repo) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.git("remote", "set-url", "origin", "/nowhere/app.git")
    repo.write("README", "changed\n")
    run = ctx.fails("tasks", "pr", "-m", "Work", at=repo.folder)
    assert "'/nowhere/app.git' does not appear to be a git repository" in run.data["error"]
    assert "and the repository exists" not in run.data["error"]


def test_a_repository_without_a_commit_is_named_as_such(ctx: Ctx, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    run = ctx.fails("tasks", "start", str(ctx.new()), at=tmp_path / "empty")
    assert (run.reason, "no commit yet" in run.data["error"]) == ("no_commits", True)
