"""The remote keeps who works on a task, and what another clone needs to complete it."""

import json
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git


def clone(repo: Repo, name: str) -> Repo:
    git(repo.folder.parent, "clone", "-q", str(repo.bare), name)
    made = Repo(repo.folder.parent / name, repo.bare)
    made.git("config", "user.name", name.title())
    made.git("config", "user.email", f"{name}@example.com")
    return made


def remote_claim(repo: Repo, number: int) -> dict[str, object]:
    assert repo.bare
    told = git(repo.bare, "cat-file", "tag", f"refs/cortex/claims/{number}")
    data: dict[str, object] = json.loads(told.partition("\n\n")[2])
    return data


def test_the_first_clone_has_the_claim_and_the_others_are_told_whose_it_is(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    ctx.set(default_message="title")
    bob = clone(repo, "bob")

    first = ctx.json("tasks", "start", str(number), at=repo.folder)
    second = ctx.json("tasks", "start", str(number), at=bob.folder)
    again = ctx.json("tasks", "start", str(number), at=repo.folder)

    assert (first["claim"], first["already"], "claimed_by" in first) == ("remote", False, False)
    assert (second["claim"], second["already"]) == ("remote", True)
    assert second["claimed_by"]["owner"] == "Ann"
    assert "--steal" in second["warnings"][0]
    assert (again["claim"], again["already"], "claimed_by" in again) == ("remote", True, False)


def test_a_claim_can_be_taken_over(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    bob = clone(repo, "bob")
    ctx.json("tasks", "start", str(number), at=repo.folder)
    taken = ctx.json("tasks", "start", str(number), "--steal", at=bob.folder)
    assert "claimed_by" not in taken
    assert remote_claim(repo, number)["owner"] == "Bob"
    repo.git("switch", "-q", "main")
    lost = ctx.json("tasks", "start", str(number), at=repo.folder)
    assert lost["claimed_by"]["owner"] == "Bob"


def test_a_claim_holds_no_path_address_or_file(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    repo.write("README", "secret plans\n")
    ctx.json("tasks", "pr", "-m", "Work", at=repo.folder)
    claim = remote_claim(repo, number)
    assert claim["branch"] == branch
    told = json.dumps(claim)
    assert str(repo.folder.parent) not in told
    assert "@" not in told
    assert "secret plans" not in told


def test_where_the_remote_takes_no_such_refs_the_answer_promises_no_more(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    refuse = 'while read old new ref; do case "$ref" in refs/cortex/*) exit 1;; esac; done'
    repo.hook("pre-receive", refuse, remote=True)
    answer = ctx.json("tasks", "start", str(number), at=repo.folder)
    assert (answer["claim"], answer["already"]) == ("local", False)
    repo.write("README", "work\n")
    ctx.json("tasks", "pr", "-m", "Work", at=repo.folder)
    assert ctx.task(number)["status"] == "REVIEW"


def test_without_a_remote_the_claim_is_local_and_with_a_backend_the_backends(
    ctx: Ctx, online: Ctx, lonely_repo: Repo
) -> None:
    answer = online.json("tasks", "start", str(online.new()), at=lonely_repo.folder)
    assert answer["claim"] == "backend"


def test_a_users_pre_push_hook_is_not_run_for_a_claim(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.hook("pre-push", "exit 1")
    assert ctx.json("tasks", "start", str(number), at=repo.folder)["claim"] == "remote"


def test_undo_and_done_release_the_claim(ctx: Ctx, repo: Repo) -> None:
    one = ctx.new()
    ctx.json("tasks", "start", str(one), at=repo.folder)
    ctx.json("undo", at=repo.folder)
    assert git(repo.bare, "for-each-ref", "refs/cortex") == ""  # type: ignore[arg-type]
    branch = ctx.json("tasks", "start", str(one), at=repo.folder)["branch"]
    repo.write("README", "work\n")
    ctx.json("tasks", "pr", "-m", "Work", at=repo.folder)
    repo.merge_on_remote(branch)
    ctx.json("tasks", "done", at=repo.folder)
    assert git(repo.bare, "for-each-ref", "refs/cortex") == ""  # type: ignore[arg-type]
    ctx.json("undo", at=repo.folder)
    assert remote_claim(repo, one)["branch"] == branch


def merge(repo: Repo, branch: str, how: str) -> None:
    side = clone(repo, f"merger-{how}")
    if how == "fast-forward":
        side.git("merge", "-q", "--ff-only", f"origin/{branch}")
    elif how == "merge":
        side.git("merge", "-q", "--no-ff", "-m", "Merge", f"origin/{branch}")
    elif how == "squash":
        side.git("merge", "-q", "--squash", f"origin/{branch}")
        side.git("commit", "-qm", "Squashed")
    else:
        side.commit("theirs.txt", "theirs\n")
        side.git("cherry-pick", f"main..origin/{branch}")
    side.git("push", "-q", "origin", "HEAD:main")


@pytest.mark.parametrize(
    ("how", "deleted"),
    [
        ("merge", True),
        ("squash", True),
        ("rebase", False),
        *(
            pytest.param(how, deleted, marks=pytest.mark.torture)
            for how, deleted in (
                ("fast-forward", False),
                ("fast-forward", True),
                ("merge", False),
                ("squash", False),
                ("rebase", True),
            )
        ),
    ],
)
def test_a_task_merged_elsewhere_is_completed_from_a_fresh_clone(
    ctx: Ctx, repo: Repo, how: str, deleted: bool
) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    for name in ("one", "two"):
        repo.write("README", f"{name}\n")
        ctx.json("tasks", "pr", "-m", name, at=repo.folder)
    fresh_before = clone(repo, "before")
    run = ctx.fails("tasks", "done", "--task", str(number), at=fresh_before.folder)
    assert run.reason == "not_merged"
    merge(repo, branch, how)
    if deleted:
        git(Path(str(repo.bare)), "branch", "-qD", branch)
    fresh = clone(repo, "fresh")

    answer = ctx.json("tasks", "done", "--task", str(number), at=fresh.folder)

    proofs = {"fast-forward": "ancestor", "merge": "ancestor", "rebase": "patches"}
    assert answer["proof"] == proofs.get(how, "squash")
    assert ctx.task(number)["status"] == "DONE"


def test_a_task_begun_elsewhere_without_work_is_not_completed_from_a_fresh_clone(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    ctx.json("tasks", "start", str(number), at=repo.folder)
    side = clone(repo, "side")
    side.commit("theirs.txt")
    side.git("push", "-q", "origin", "main")
    repo.git("pull", "-q", "--ff-only", "origin", "main")
    repo.git("push", "-q", "-u", "origin", "HEAD")
    fresh = clone(repo, "fresh")
    run = ctx.fails("tasks", "done", "--task", str(number), at=fresh.folder)
    assert run.reason == "no_own_commit"
