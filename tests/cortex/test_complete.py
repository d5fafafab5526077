"""ctx tasks done: proof of the merge first, and no commit is ever lost by cleaning up."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git
from cortex_servers import GitHub


@pytest.fixture
def submitted(ctx: Ctx, repo: Repo) -> tuple[Ctx, Repo, int, str]:
    """A task whose branch has a commit and is pushed."""
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    return ctx, repo, number, branch


@pytest.fixture
def on_github(submitted: tuple[Ctx, Repo, int, str]) -> Iterator[GitHub]:
    ctx, repo, _, _ = submitted
    with GitHub(lambda branch: git(repo.bare, "rev-parse", branch)).running() as server:
        address = f"{server.url}/{server.path}.git"
        repo.git("config", f"url.{repo.bare}.insteadOf", address)
        repo.git("remote", "set-url", "origin", address)
        ctx.set(git_provider="github", github_token=server.token)
        ctx.json("tasks", "pr", at=repo.folder)
        yield server


def test_done_needs_a_merge(submitted: tuple[Ctx, Repo, int, str]) -> None:
    ctx, repo, number, _ = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    before = repo.picture()
    run = ctx.fails("tasks", "done", at=repo.folder)
    assert (run.code, run.reason) == (6, "not_merged")
    assert repo.picture() == before
    assert ctx.task(number)["status"] == "REVIEW"


def test_a_merge_on_the_remote_is_proof_and_cleans_as_configured(
    submitted: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    commit = repo.tip()
    repo.merge_on_remote(branch)

    answer = ctx.json("tasks", "done", at=repo.folder)

    assert (answer["task_id"], answer["cleaned"]) == (number, ["local_branch", "remote_branch"])
    assert ctx.task(number)["status"] == "DONE"
    assert (repo.branch(), repo.branches(), repo.remote_branches()) == ("main", {"main"}, {"main"})
    assert repo.git("for-each-ref", f"--contains={commit}")

    again = ctx.json("tasks", "done", at=repo.folder)
    assert (again["success"], again["already"], again["cleaned"]) == (True, True, [])


def test_without_settings_nothing_is_deleted_and_done_twice_does_nothing(
    submitted: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = submitted
    repo.merge_on_remote(branch)
    assert ctx.json("tasks", "done", at=repo.folder)["cleaned"] == []
    before = repo.picture()
    assert ctx.json("tasks", "done", at=repo.folder)["already"] is True
    assert repo.picture() == before
    assert (repo.branch(), branch in repo.remote_branches()) == (branch, True)
    assert ctx.task(number)["status"] == "DONE"


def test_a_branch_without_a_commit_of_its_own_is_refused(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    ctx.json("tasks", "start", str(number), at=repo.folder)
    run = ctx.fails("tasks", "done", at=repo.folder)
    assert run.reason == "no_own_commit"
    assert ctx.task(number)["status"] == "IN_PROGRESS"


@pytest.mark.parametrize("how", [("merge", "-q"), ("rebase", "-q"), ("reset", "-q", "--hard")])
def test_a_branch_that_was_only_brought_up_to_main_has_no_commit_of_its_own(
    ctx: Ctx, repo: Repo, how: tuple[str, ...]
) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    repo.git("switch", "-q", "main")
    repo.commit("theirs.txt")
    repo.git("push", "-q", "origin", "main")
    repo.git("switch", "-q", branch)
    repo.git(*how, "main")
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "no_own_commit"
    repo.commit("own.txt")
    repo.git("push", "-q", "origin", "HEAD:main")
    assert ctx.json("tasks", "done", at=repo.folder)["proof"] == "ancestor"


def test_work_of_another_machine_that_was_pulled_is_proof_when_merged(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    other = repo.folder.parent / "other"
    git(repo.folder.parent, "clone", "-q", str(repo.bare), str(other))
    git(other, "switch", "-qc", branch)
    Repo(other, repo.bare).commit()
    git(other, "push", "-q", "origin", "HEAD", "HEAD:main")
    repo.git("pull", "-q", "--ff-only", "origin", branch)
    assert ctx.json("tasks", "done", at=repo.folder)["proof"] == "ancestor"


def test_force_changes_the_state_alone(submitted: tuple[Ctx, Repo, int, str]) -> None:
    ctx, repo, number, _ = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    before = repo.picture()
    assert ctx.json("tasks", "done", "--force", at=repo.folder)["cleaned"] == []
    assert repo.picture() == before
    assert ctx.task(number)["status"] == "DONE"


def test_a_squash_merge_is_proven_by_the_forge_and_its_commits_stay_reachable(
    submitted: tuple[Ctx, Repo, int, str], on_github: GitHub
) -> None:
    ctx, repo, number, branch = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    commit = repo.tip()
    repo.merge_on_remote(branch, squash=True)
    on_github.merge(on_github.pulls[0])

    answer = ctx.json("tasks", "done", at=repo.folder)

    assert (answer["proof"], answer["cleaned"]) == ("forge", ["local_branch", "remote_branch"])
    assert (repo.branches(), repo.remote_branches()) == ({"main"}, {"main"})
    assert repo.git("for-each-ref", "--format=%(refname)", f"--contains={commit}") == (
        f"refs/cortex/kept/{branch}"
    )
    assert ctx.task(number)["status"] == "DONE"

    ctx.json("undo", at=repo.folder)
    assert (repo.branch(), repo.tip(), branch in repo.remote_branches()) == (branch, commit, True)
    assert ctx.task(number)["status"] == "REVIEW"


def test_a_commit_after_the_squash_merge_is_not_proven(
    submitted: tuple[Ctx, Repo, int, str], on_github: GitHub
) -> None:
    ctx, repo, number, branch = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    repo.merge_on_remote(branch, squash=True)
    on_github.merge(on_github.pulls[0])
    late = repo.commit("late.txt")
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "not_merged"
    assert (repo.branch(), repo.tip()) == (branch, late)
    assert branch in repo.remote_branches()
    assert ctx.task(number)["status"] == "REVIEW"


def test_a_remote_branch_with_other_commits_stays(submitted: tuple[Ctx, Repo, int, str]) -> None:
    ctx, repo, _, branch = submitted
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    repo.merge_on_remote(branch)
    side = repo.folder.parent / "forge-side"
    git(side, "switch", "-q", branch)
    theirs = Repo(side, repo.bare).commit("theirs.txt")
    git(side, "push", "-q", "origin", branch)

    answer = ctx.json("tasks", "done", at=repo.folder)

    assert answer["cleaned"] == ["local_branch"]
    assert git(repo.bare, "rev-parse", branch) == theirs


def test_a_merge_without_a_remote_is_proven_by_the_local_main(ctx: Ctx, lonely_repo: Repo) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=lonely_repo.folder)["branch"]
    lonely_repo.commit()
    assert ctx.fails("tasks", "done", at=lonely_repo.folder).reason == "not_merged"
    lonely_repo.git("switch", "-q", "main")
    lonely_repo.git("merge", "-q", branch)
    lonely_repo.git("switch", "-q", branch)
    ctx.set(delete_local_on_done="true")
    assert ctx.json("tasks", "done", at=lonely_repo.folder)["cleaned"] == ["local_branch"]
    assert ctx.task(number)["status"] == "DONE"


def test_uncommitted_work_keeps_the_branch_checked_out(
    submitted: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = submitted
    ctx.set(delete_local_on_done="true")
    repo.merge_on_remote(branch)
    repo.write("work.txt", "more, not committed\n")
    answer = ctx.json("tasks", "done", at=repo.folder)
    assert answer["cleaned"] == []
    assert "uncommitted" in answer["warnings"][0]
    assert (repo.branch(), (repo.folder / "work.txt").read_text()) == (
        branch,
        "more, not committed\n",
    )
    assert ctx.task(number)["status"] == "DONE"


def test_a_worktree_is_deleted_from_within_and_one_with_work_stays(ctx: Ctx, repo: Repo) -> None:
    ctx.set(
        use_worktree="true", delete_worktree_on_done="true", delete_local_on_done="true",
        delete_remote_on_done="true",
    )  # fmt: skip
    trees: list[tuple[Repo, str]] = []
    for name in ("one", "two"):
        start = ctx.json("tasks", "start", str(ctx.new(name)), at=repo.folder)
        tree = Repo(Path(start["worktree"]), repo.bare)
        tree.commit(f"{name}.txt")
        ctx.json("tasks", "pr", at=tree.folder)
        trees.append((tree, start["branch"]))
    (one, first), (two, second) = trees
    repo.git("fetch", "-q")
    repo.git("merge", "-q", "--no-edit", first, second)
    repo.git("push", "-q", "origin", "main")
    two.write("precious.txt")

    gone = ctx.json("tasks", "done", at=one.folder)
    kept = ctx.json("tasks", "done", at=two.folder)

    assert gone["cleaned"] == ["worktree", "local_branch", "remote_branch"]
    assert not one.folder.exists()
    assert kept["cleaned"] == ["remote_branch"]
    assert (two.folder / "precious.txt").exists()
    assert repo.branches() == {"main", second}
    ctx.json("undo", at=repo.folder)
    ctx.json("undo", at=repo.folder)
    assert one.branch() == first


def test_a_server_out_of_reach_leaves_the_branch_and_running_again_finishes(
    submitted: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, branch = submitted
    ctx.set(delete_local_on_done="true")
    repo.merge_on_remote(branch)
    ctx.set(url="http://127.0.0.1:9/api/v1", access_token="some-token")
    run = ctx.fails("tasks", "done", at=repo.folder)
    assert (run.code, run.reason) == (7, "backend_unreachable")
    assert repo.branch() == branch
    ctx.set(url="local")
    assert ctx.json("tasks", "done", at=repo.folder)["cleaned"] == ["local_branch"]


def test_a_branch_that_the_remote_will_not_delete_is_told_not_failed(
    submitted: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = submitted
    ctx.set(delete_remote_on_done="true")
    repo.merge_on_remote(branch)
    repo.hook("pre-receive", "echo 'branches are for ever' >&2; exit 1", remote=True)
    answer = ctx.json("tasks", "done", at=repo.folder)
    assert (answer["cleaned"], ctx.task(number)["status"]) == ([], "DONE")
    assert branch in repo.remote_branches()
    assert branch in answer["warnings"][0]
