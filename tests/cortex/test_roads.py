"""Every way of working from start to DONE: forks, stacks, rebases, a default branch renamed."""

from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git


def somebody(repo: Repo, name: str = "somebody") -> Repo:
    """Another clone of the remote, where others work."""
    folder = repo.folder.parent / name
    if not folder.exists():
        git(folder.parent, "clone", "-q", str(repo.bare), str(folder))
    other = Repo(folder, repo.bare)
    other.git("fetch", "-q", "origin")
    return other


def moved_main(repo: Repo, name: str = "theirs.txt", text: str = "theirs\n") -> str:
    """Somebody commits to main and pushes."""
    other = somebody(repo)
    other.git("switch", "-q", "-C", "main", "origin/main")
    commit = other.commit(name, text)
    other.git("push", "-q", "origin", "main")
    return commit


def squash(repo: Repo, branch: str) -> None:
    """Somebody squashes a pushed branch into main."""
    other = somebody(repo)
    other.git("switch", "-q", "-C", "main", "origin/main")
    other.git("merge", "-q", "--squash", f"origin/{branch}")
    other.git("commit", "-qm", f"Squash {branch}")
    other.git("push", "-q", "origin", "main")


def begun(ctx: Ctx, repo: Repo, *more: str, title: str = "Do it") -> tuple[int, str]:
    number = ctx.new(title)
    return number, ctx.json("tasks", "start", str(number), *more, at=repo.folder)["branch"]


def fork_of(repo: Repo) -> Path:
    """A fork of the remote, as a person's own repository on the forge."""
    fork = repo.folder.parent / "fork.git"
    git(fork.parent, "clone", "-q", "--bare", str(repo.bare), str(fork))
    return fork


# remotes by role


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        ({"origin": "fork", "upstream": "base"}, {}),
        ({"origin": "base", "fork": "fork"}, {}),
        ({"origin": "base", "me": "fork"}, {"remote.pushDefault": "me"}),
        ({"company": "base", "me": "fork"}, {"remote.pushDefault": "me"}),
    ],
    ids=["upstream", "fork", "pushDefault", "no origin"],
)
def test_work_is_pushed_to_the_fork_and_done_once_the_base_has_it(
    ctx: Ctx, repo: Repo, names: dict[str, str], settings: dict[str, str]
) -> None:
    fork = fork_of(repo)
    repo.git("remote", "remove", "origin")
    for name, role in names.items():
        repo.git("remote", "add", name, str(repo.bare if role == "base" else fork))
    for key, value in settings.items():
        repo.git("config", key, value)
    moved_main(repo)
    number, branch = begun(ctx, repo)
    assert (repo.folder / "theirs.txt").exists()
    repo.commit()

    ctx.json("tasks", "pr", at=repo.folder)

    assert branch in git(fork, "branch", "--list", branch)
    assert branch not in repo.remote_branches()
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "not_merged"
    other = somebody(repo)
    other.git("pull", "-q", "--no-rebase", "--no-ff", "--no-edit", str(fork), branch)
    other.git("push", "-q", "origin", "HEAD:main")
    ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    assert ctx.json("tasks", "done", at=repo.folder)["proof"] == "ancestor"
    assert (branch in git(fork, "branch", "--list", branch), branch in repo.branches()) == (
        False,
        False,
    )
    assert ctx.task(number)["status"] == "DONE"


def test_of_several_remotes_without_a_role_the_refusal_names_the_setting(
    ctx: Ctx, repo: Repo
) -> None:
    fork = fork_of(repo)
    repo.git("remote", "remove", "origin")
    repo.git("remote", "add", "one", str(repo.bare))
    repo.git("remote", "add", "two", str(fork))
    begun(ctx, repo)
    repo.commit()
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert "one, two" in run.data["error"]
    assert any("remote.pushDefault" in text for text in run.data["suggestions"])
    repo.git("config", "remote.pushDefault", "two")
    assert ctx.json("tasks", "pr", at=repo.folder)["success"]


def test_a_default_branch_that_was_renamed_is_noticed_at_every_command(
    ctx: Ctx, repo: Repo
) -> None:
    repo.git("fetch", "-q")
    repo.git("remote", "set-head", "origin", "main")
    number, branch = begun(ctx, repo, title="One")
    repo.commit()
    git(repo.bare, "branch", "-m", "main", "trunk")
    git(repo.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    other = somebody(repo)
    other.git("switch", "-q", "trunk")
    other.commit("newer.txt")
    other.git("push", "-q", "origin", "trunk")

    answer = ctx.json("tasks", "pr", at=repo.folder)
    assert any("trunk" in text for text in answer["warnings"])

    second, _ = begun(ctx, repo, title="Two")
    assert (repo.folder / "newer.txt").exists()
    other.git("fetch", "-q")
    other.git("merge", "-q", "--no-edit", f"origin/{branch}")
    other.git("push", "-q", "origin", "trunk")
    assert ctx.json("tasks", "done", "--task", str(number), at=repo.folder)["proof"] == "ancestor"
    assert ctx.task(second)["status"] == "IN_PROGRESS"


def test_a_set_main_branch_that_the_remote_lost_gives_way_to_its_default(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(git_main_branch="main")
    repo.git("fetch", "-q")
    git(repo.bare, "branch", "-m", "main", "trunk")
    git(repo.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    answer = ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    assert answer["base"] == "trunk"
    assert any("git_main_branch trunk" in text for text in answer["warnings"])


# sync


def test_sync_rebases_on_main_pushes_over_our_own_tip_and_keeps_the_old_one(
    ctx: Ctx, repo: Repo
) -> None:
    number, branch = begun(ctx, repo)
    old = repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    theirs = moved_main(repo)

    answer = ctx.json("tasks", "sync", at=repo.folder)

    assert answer["already"] is False
    assert repo.git("rev-parse", "HEAD~1") == theirs
    assert git(repo.bare, "rev-parse", branch) == repo.tip()
    assert old in [item["commit"] for item in answer["kept"]]
    assert ctx.json("tasks", "sync", at=repo.folder)["already"] is True
    squash(repo, branch)
    assert ctx.json("tasks", "done", at=repo.folder)["success"]
    assert ctx.task(number)["status"] == "DONE"


def test_sync_can_merge_main_instead(ctx: Ctx, repo: Repo) -> None:
    _, branch = begun(ctx, repo)
    mine = repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    theirs = moved_main(repo)
    ctx.json("tasks", "sync", "--merge", at=repo.folder)
    assert repo.git("log", "-1", "--format=%P").split() == [mine, theirs]
    assert git(repo.bare, "rev-parse", branch) == repo.tip()


def test_conflicts_of_a_sync_are_left_to_be_solved_and_told_how(ctx: Ctx, repo: Repo) -> None:
    number, branch = begun(ctx, repo)
    repo.commit("README", "mine\n")
    repo.commit("more.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    moved_main(repo, "README", "theirs\n")

    run = ctx.fails("tasks", "sync", at=repo.folder)
    assert (run.reason, run.data["details"]["files"]) == ("conflicts", ["README"])
    assert any("--continue" in text for text in run.data["suggestions"])
    assert ctx.fails("tasks", "sync", "--continue", at=repo.folder).reason == "conflicts"
    assert ctx.fails("tasks", "pr", at=repo.folder).reason == "operation_in_progress"

    repo.write("README", "both\n")
    assert ctx.fails("tasks", "sync", "--continue", at=repo.folder).reason == "conflicts"
    repo.git("add", "README")
    assert ctx.json("tasks", "sync", "--continue", at=repo.folder)["success"]

    assert repo.branch() == branch
    assert git(repo.bare, "show", f"{branch}:README") == "both"
    assert git(repo.bare, "rev-parse", branch) == repo.tip()
    squash(repo, branch)
    ctx.json("tasks", "done", at=repo.folder)
    assert ctx.task(number)["status"] == "DONE"


@pytest.mark.parametrize("how", ["--rebase", "--merge"])
def test_a_sync_with_conflicts_can_be_given_up(ctx: Ctx, repo: Repo, how: str) -> None:
    _, branch = begun(ctx, repo)
    old = repo.commit("README", "mine\n")
    moved_main(repo, "README", "theirs\n")
    assert ctx.fails("tasks", "sync", how, at=repo.folder).reason == "conflicts"
    assert ctx.json("tasks", "sync", "--abort", at=repo.folder)["aborted"]
    assert (repo.branch(), repo.tip()) == (branch, old)
    assert ctx.fails("tasks", "sync", "--abort", at=repo.folder).reason == "nothing_to_abort"


def test_sync_never_replaces_what_others_pushed(ctx: Ctx, repo: Repo) -> None:
    _, branch = begun(ctx, repo)
    repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    other = somebody(repo)
    other.git("switch", "-q", branch)
    theirs = other.commit("suggestion.txt")
    other.git("push", "-q", "origin", branch)
    moved_main(repo)

    run = ctx.fails("tasks", "sync", at=repo.folder)
    assert run.reason == "diverged"
    assert run.data["suggestions"][0].endswith(f"git merge origin/{branch}")
    repo.git("merge", "-q", f"origin/{branch}")
    assert ctx.fails("tasks", "sync", at=repo.folder).reason == "not_ours"
    assert git(repo.bare, "rev-parse", branch) == theirs
    ctx.json("tasks", "sync", "--merge", at=repo.folder)
    assert git(repo.bare, "rev-parse", branch) == repo.tip()


def test_pr_after_an_amend_pushes_over_our_own_tip_and_keeps_it(ctx: Ctx, repo: Repo) -> None:
    _, branch = begun(ctx, repo)
    old = repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    repo.git("commit", "-q", "--amend", "-m", "Better")
    answer = ctx.json("tasks", "pr", at=repo.folder)
    assert git(repo.bare, "rev-parse", branch) == repo.tip()
    assert old in repo.git("for-each-ref", "--format=%(objectname)", "refs/cortex/kept")
    assert any("rewritten" in text for text in answer["warnings"])


def test_sync_refuses_what_it_would_overwrite_on_its_way(ctx: Ctx, repo: Repo) -> None:
    begun(ctx, repo)
    (repo.folder / ".git" / "info" / "exclude").write_text("data.db\nmine.db\n")
    repo.write("mine.db", "mine\n")
    repo.git("add", "--force", "mine.db")
    repo.git("commit", "-qm", "By mistake")
    repo.git("rm", "-q", "mine.db")
    repo.git("commit", "-qm", "Taken out")
    repo.write("mine.db", "precious\n")
    repo.write("data.db", "precious\n")
    moved_main(repo, "data.db")
    run = ctx.fails("tasks", "sync", at=repo.folder)
    assert run.data["details"]["files"] == ["data.db", "mine.db"]
    assert (repo.folder / "mine.db").read_text() == "precious\n"
    repo.write("README", "changed\n")
    assert ctx.fails("tasks", "sync", at=repo.folder).data["details"]["files"] == ["README"]


def test_undo_takes_a_sync_back_here_and_on_the_remote(ctx: Ctx, repo: Repo) -> None:
    _, branch = begun(ctx, repo)
    old = repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    moved_main(repo)
    ctx.json("tasks", "sync", at=repo.folder)
    assert ctx.json("undo", at=repo.folder)["undone"] == "sync"
    assert (repo.tip(), git(repo.bare, "rev-parse", branch)) == (old, old)


# stacks


def test_a_stack_of_three_goes_from_start_to_done_by_squashes(ctx: Ctx, repo: Repo) -> None:
    one, lower = begun(ctx, repo, title="One")
    repo.commit("one.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    two, middle = begun(ctx, repo, "--on", str(one), title="Two")
    assert (repo.folder / "one.txt").exists()
    repo.commit("two.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    three, upper = begun(ctx, repo, "--on", str(two), title="Three")
    repo.commit("three.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    assert ctx.json("tasks", "status", at=repo.folder)["evidence"]["own_commits"] == 1

    for number, branch, rest in (
        (one, lower, [(two, middle), (three, upper)]),
        (two, middle, [(three, upper)]),
        (three, upper, []),
    ):
        assert ctx.fails("tasks", "done", "--task", str(number), at=repo.folder)
        squash(repo, branch)
        ctx.json("tasks", "done", "--task", str(number), at=repo.folder)
        for above, name in rest:
            assert (
                ctx.fails("tasks", "done", "--task", str(above), at=repo.folder).reason
                == "not_merged"
            )
            repo.git("switch", "-q", name)
            answer = ctx.json("tasks", "sync", at=repo.folder)
            assert answer["onto"] == ("main" if (above, name) == rest[0] else rest[0][1])
            evidence = ctx.json("tasks", "status", at=repo.folder)["evidence"]
            assert evidence["own_commits"] == 1
    assert [ctx.task(n)["status"] for n in (one, two, three)] == ["DONE"] * 3


def test_an_upper_task_follows_a_lower_one_that_was_amended(ctx: Ctx, repo: Repo) -> None:
    one, lower = begun(ctx, repo, title="One")
    repo.commit("one.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    two, upper = begun(ctx, repo, "--on", str(one), title="Two")
    repo.commit("two.txt")
    repo.git("switch", "-q", lower)
    repo.write("one.txt", "better\n")
    repo.git("commit", "-q", "--all", "--amend", "-m", "Better")
    ctx.json("tasks", "pr", at=repo.folder)
    repo.git("switch", "-q", upper)
    ctx.json("tasks", "sync", at=repo.folder)
    assert repo.git("log", "--format=%s", f"main..{upper}").splitlines() == [
        "Change two.txt",
        "Better",
    ]
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "not_merged"
    assert ctx.task(two)["status"] == "IN_PROGRESS"


def test_a_stacked_task_without_work_is_not_done_when_the_lower_one_is_merged(
    ctx: Ctx, repo: Repo
) -> None:
    one, lower = begun(ctx, repo, title="One")
    repo.commit("one.txt")
    ctx.json("tasks", "pr", at=repo.folder)
    two, _ = begun(ctx, repo, "--on", str(one), title="Two")
    repo.merge_on_remote(lower)
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "no_own_commit"
    assert ctx.task(two)["status"] == "IN_PROGRESS"


def test_a_stack_is_gone_on_with_from_another_clone(online: Ctx, repo: Repo) -> None:
    one, lower = begun(online, repo, title="One")
    repo.commit("one.txt")
    online.json("tasks", "pr", at=repo.folder)
    two, upper = begun(online, repo, "--on", str(one), title="Two")
    repo.commit("two.txt")
    online.json("tasks", "pr", at=repo.folder)
    squash(repo, lower)

    there = somebody(repo, "elsewhere")
    there.git("config", "user.name", "Ann")
    there.git("config", "user.email", "ann@example.com")
    online.json("tasks", "start", str(two), at=there.folder)
    assert online.json("tasks", "status", at=there.folder)["evidence"]["own_commits"] == 1
    assert online.fails("tasks", "done", at=there.folder).reason == "not_merged"
    online.json("tasks", "done", "--task", str(one), at=there.folder)
    git(there.folder, "switch", "-q", upper)
    squash_of_upper = somebody(repo)
    squash_of_upper.git("switch", "-q", "-C", "main", "origin/main")
    squash_of_upper.git("cherry-pick", f"origin/{upper}")
    squash_of_upper.git("push", "-q", "origin", "main")
    assert online.json("tasks", "done", at=there.folder)["proof"] == "patches"
    assert [online.task(n)["status"] for n in (one, two)] == ["DONE", "DONE"]
