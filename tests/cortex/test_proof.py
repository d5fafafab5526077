"""A task is DONE where its own work is in main, however it came there, and in no other case."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from cortex_lab import Ctx, Repo, git
from cortex_servers import GitHub


@dataclass
class Case:
    """A started task in a clone, and a second clone where everybody else works."""

    ctx: Ctx
    repo: Repo
    branch: str
    number: int

    @property
    def others(self) -> Repo:
        folder = self.repo.folder.parent / "others"
        if not folder.exists():
            git(folder.parent, "clone", "-q", str(self.repo.bare), str(folder))
        side = Repo(folder, self.repo.bare)
        side.git("fetch", "-q", "origin")
        side.git("switch", "-q", "-C", "main", "origin/main")
        return side

    def theirs(self, name: str = "theirs.txt", text: str = "theirs\n") -> str:
        """Somebody commits to main."""
        side = self.others
        commit = side.commit(name, text)
        side.git("push", "-q", "origin", "main")
        return commit

    def push(self) -> None:
        self.repo.git("push", "-q", "-u", "--force", "origin", "HEAD")

    def on_main(self, *commands: tuple[str, ...]) -> None:
        """Somebody does something on main, with our branch at hand, and pushes it."""
        side = self.others
        for command in commands:
            side.git(*command)
        side.git("push", "-q", "origin", "main")

    @property
    def theirs_of_ours(self) -> str:
        return f"origin/{self.branch}"


def pull_main(case: Case) -> None:
    case.repo.git("pull", "-q", "--ff-only", "origin", "main")


def work(case: Case, name: str = "work.txt", text: str = "work\n") -> str:
    return case.repo.commit(name, text)


# what is proven


def merge_commit(case: Case) -> None:
    work(case)
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


def fast_forward(case: Case) -> None:
    work(case)
    case.push()
    case.on_main(("merge", "-q", "--ff-only", case.theirs_of_ours))


def pushed_to_main(case: Case) -> None:
    work(case)
    case.repo.git("push", "-q", "origin", "HEAD:main")


def merged_then_pulled(case: Case) -> None:
    merge_commit(case)
    pull_main(case)


def rebased_by_the_forge(case: Case) -> None:
    work(case, "one.txt")
    work(case, "two.txt")
    case.push()
    case.theirs()
    case.on_main(("cherry-pick", f"origin/main..{case.theirs_of_ours}"))


def squashed(case: Case) -> None:
    work(case, "one.txt")
    work(case, "one.txt", "work\nmore\n")
    case.push()
    case.theirs()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))


def squashed_after_main_was_merged_in(case: Case) -> None:
    work(case, "one.txt")
    case.theirs()
    case.repo.git("fetch", "-q", "origin")
    case.repo.git("merge", "-q", "--no-edit", "origin/main")
    work(case, "two.txt")
    case.push()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))


def squashed_after_a_rebase(case: Case) -> None:
    work(case, "one.txt")
    work(case, "two.txt")
    case.theirs()
    case.repo.git("fetch", "-q", "origin")
    case.repo.git("rebase", "-q", "origin/main")
    case.push()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))


def amended_then_merged(case: Case) -> None:
    work(case)
    case.push()
    case.repo.write("work.txt", "better\n")
    case.repo.git("commit", "-q", "--all", "--amend", "-m", "Better")
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


def updated_from_main_then_worked(case: Case) -> None:
    case.theirs()
    pull_main(case)
    fast_forward(case)


def worked_elsewhere_and_pulled(case: Case) -> None:
    side = case.others
    side.git("switch", "-q", "-c", case.branch)
    side.commit("work.txt", "work\n")
    side.git("push", "-q", "origin", "HEAD", "HEAD:main")
    case.repo.git("pull", "-q", "--ff-only", "origin", case.branch)


def binary_rebased(case: Case) -> None:
    (case.repo.folder / "logo.png").write_bytes(bytes(range(256)))
    case.repo.git("add", "logo.png")
    case.repo.git("commit", "-qm", "Logo")
    case.push()
    case.theirs()
    case.on_main(("cherry-pick", case.theirs_of_ours))


def mode_alone(case: Case) -> None:
    case.repo.git("update-index", "--chmod=+x", "README")
    case.repo.git("commit", "-qm", "Run it")
    case.repo.git("checkout", "-q", "--", "README")
    case.push()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))


def reverted_and_landed_again(case: Case) -> None:
    fast_forward(case)
    case.on_main(("revert", "--no-edit", "HEAD"), ("revert", "--no-edit", "HEAD"))


def a_part_taken_back_on_the_branch(case: Case) -> None:
    work(case, "one.txt")
    work(case, "two.txt")
    case.repo.git("revert", "--no-edit", "HEAD")
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


PROVEN: dict[Callable[[Case], None], str] = {
    merge_commit: "ancestor",
    fast_forward: "ancestor",
    pushed_to_main: "ancestor",
    merged_then_pulled: "ancestor",
    rebased_by_the_forge: "patches",
    squashed: "squash",
    squashed_after_main_was_merged_in: "squash",
    squashed_after_a_rebase: "squash",
    amended_then_merged: "ancestor",
    updated_from_main_then_worked: "ancestor",
    worked_elsewhere_and_pulled: "ancestor",
    binary_rebased: "patches",
    mode_alone: "patches",
    reverted_and_landed_again: "ancestor",
    a_part_taken_back_on_the_branch: "ancestor",
}


# what is not


def nothing_done(case: Case) -> None:
    """The branch stands where it began."""


def pulled_main_and_pushed(case: Case) -> None:
    case.theirs()
    pull_main(case)
    case.push()


def merged_main(case: Case) -> None:
    case.theirs()
    case.repo.git("fetch", "-q", "origin")
    case.repo.git("merge", "-q", "--ff-only", "origin/main")


def rebased_on_main(case: Case) -> None:
    case.theirs()
    case.repo.git("pull", "-q", "--rebase", "origin", "main")


def reset_to_main(case: Case) -> None:
    case.theirs()
    case.repo.git("fetch", "-q", "origin")
    case.repo.git("reset", "-q", "--hard", "origin/main")


def pulled_main_by_its_address(case: Case) -> None:
    case.theirs()
    case.repo.git("pull", "-q", "--ff-only", str(case.repo.bare), "main")


def somebody_elses_branch_pulled(case: Case) -> None:
    side = case.others
    side.git("switch", "-q", "-c", "their-feature")
    side.commit("theirs.txt", "theirs\n")
    side.git("push", "-q", "origin", "their-feature")
    case.repo.git("pull", "-q", "--ff-only", "origin", "their-feature")
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", "origin/their-feature"))


def empty_commit_merged(case: Case) -> None:
    case.repo.git("commit", "-q", "--allow-empty", "-m", "Nothing")
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


def commit_and_its_revert_merged(case: Case) -> None:
    work(case)
    case.repo.git("revert", "--no-edit", "HEAD")
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


def three_commits_that_cancel_out(case: Case) -> None:
    work(case, "README", "hello\na\n")
    work(case, "README", "hello\na\nb\n")
    work(case, "README", "hello\n")
    case.push()
    case.on_main(("merge", "-q", "--no-ff", "-m", "Merge", case.theirs_of_ours))


def picked_from_main(case: Case) -> None:
    commit = case.theirs()
    case.repo.git("fetch", "-q", "origin")
    case.repo.git("cherry-pick", commit)
    case.push()


def not_merged(case: Case) -> None:
    work(case)
    case.push()


def one_of_two_picked(case: Case) -> None:
    work(case, "one.txt")
    work(case, "two.txt")
    case.push()
    case.on_main(("cherry-pick", f"{case.theirs_of_ours}~1"))


def squashed_then_worked_on(case: Case) -> None:
    work(case, "one.txt")
    case.push()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))
    work(case, "late.txt")


def squashed_with_more_in_it(case: Case) -> None:
    work(case, "one.txt")
    case.push()
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours))
    side = Repo(case.repo.folder.parent / "others", case.repo.bare)
    side.git("reset", "-q", "--hard", "origin/main")
    side.write("one.txt", "something else\n")
    side.git("add", "--all")
    side.git("commit", "-qm", "Not the same")
    side.git("push", "-q", "origin", "main")


def another_binary_on_main(case: Case) -> None:
    (case.repo.folder / "logo.png").write_bytes(bytes(range(256)))
    case.repo.git("add", "logo.png")
    case.repo.git("commit", "-qm", "Logo")
    case.push()
    side = case.others
    (side.folder / "logo.png").write_bytes(bytes(range(255, -1, -1)))
    side.git("add", "logo.png")
    side.git("commit", "-qm", "Logo")
    side.git("push", "-q", "origin", "main")


def indented_otherwise_on_main(case: Case) -> None:
    work(case, "one.py", "if a:\n    b()\nc()\n")
    case.push()
    case.theirs("one.py", "if a:\n    b()\n    c()\n")


def a_second_round_not_merged(case: Case) -> None:
    fast_forward(case)
    work(case, "late.txt")


REFUSED: dict[Callable[[Case], None], str] = {
    nothing_done: "no_own_commit",
    pulled_main_and_pushed: "no_own_commit",
    merged_main: "no_own_commit",
    rebased_on_main: "no_own_commit",
    reset_to_main: "no_own_commit",
    pulled_main_by_its_address: "no_own_commit",
    somebody_elses_branch_pulled: "no_own_commit",
    empty_commit_merged: "no_own_commit",
    commit_and_its_revert_merged: "no_own_commit",
    three_commits_that_cancel_out: "no_own_commit",
    picked_from_main: "no_own_commit",
    not_merged: "not_merged",
    one_of_two_picked: "not_merged",
    squashed_then_worked_on: "not_merged",
    squashed_with_more_in_it: "not_merged",
    another_binary_on_main: "not_merged",
    indented_otherwise_on_main: "not_merged",
    a_second_round_not_merged: "not_merged",
}


# what main took back


def reverted_after_a_fast_forward(case: Case) -> None:
    fast_forward(case)
    case.on_main(("revert", "--no-edit", "HEAD"))


def reverted_after_a_merge(case: Case) -> None:
    merge_commit(case)
    case.on_main(("revert", "--no-edit", "-m", "1", "HEAD"))


def reverted_after_a_squash(case: Case) -> None:
    squashed(case)
    case.on_main(("revert", "--no-edit", "HEAD"))


def reverted_after_a_rebase(case: Case) -> None:
    rebased_by_the_forge(case)
    case.on_main(("revert", "--no-edit", "HEAD"))


def reverted_in_other_words(case: Case) -> None:
    work(case, "README", "hello\nmore\n")
    case.push()
    case.on_main(("merge", "-q", "--ff-only", case.theirs_of_ours))
    case.theirs("README", "hello\n")


def reverted_and_pulled(case: Case) -> None:
    reverted_after_a_fast_forward(case)
    pull_main(case)


REVERTED = (
    reverted_after_a_fast_forward,
    reverted_after_a_merge,
    reverted_after_a_squash,
    reverted_after_a_rebase,
    reverted_in_other_words,
    reverted_and_pulled,
)


@pytest.fixture
def case(ctx: Ctx, repo: Repo) -> Case:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    return Case(ctx, repo, branch, number)


@pytest.mark.parametrize("way", PROVEN, ids=lambda way: way.__name__)
def test_done_believes(case: Case, way: Callable[[Case], None]) -> None:
    way(case)
    answer = case.ctx.json("tasks", "done", at=case.repo.folder)
    assert answer["proof"] == PROVEN[way]
    assert case.ctx.task(case.number)["status"] == "DONE"
    evidence = case.ctx.json("tasks", "status", at=case.repo.folder)["evidence"]
    assert evidence["merged"] == PROVEN[way]
    assert evidence["own_commits"] >= 1


@pytest.mark.parametrize("way", REFUSED, ids=lambda way: way.__name__)
def test_done_does_not_believe(case: Case, way: Callable[[Case], None]) -> None:
    way(case)
    assert case.ctx.fails("tasks", "done", at=case.repo.folder).reason == REFUSED[way]
    assert case.ctx.task(case.number)["status"] == "IN_PROGRESS"
    assert "merged" not in case.ctx.json("tasks", "status", at=case.repo.folder)["evidence"]


@pytest.mark.parametrize("way", REVERTED, ids=lambda way: way.__name__)
def test_done_names_the_commit_that_took_the_work_back(
    case: Case, way: Callable[[Case], None]
) -> None:
    way(case)
    run = case.ctx.fails("tasks", "done", at=case.repo.folder)
    assert run.reason == "reverted"
    revert = git(case.repo.bare, "rev-parse", "main")
    assert run.data["details"]["reverted_by"] == revert
    assert revert[:10] in run.data["error"]
    assert case.ctx.task(case.number)["status"] == "IN_PROGRESS"
    evidence = case.ctx.json("tasks", "status", at=case.repo.folder)["evidence"]
    assert evidence["reverted_by"] == revert


def test_a_revert_after_done_shows_in_status_and_the_state_stays(case: Case) -> None:
    fast_forward(case)
    case.ctx.json("tasks", "done", at=case.repo.folder)
    case.on_main(("revert", "--no-edit", "HEAD"))
    case.repo.git("fetch", "-q", "origin")
    evidence = case.ctx.json("tasks", "status", at=case.repo.folder)["evidence"]
    assert evidence["reverted_by"] == git(case.repo.bare, "rev-parse", "main")
    assert case.ctx.json("tasks", "done", at=case.repo.folder)["already"] is True
    assert case.ctx.task(case.number)["status"] == "DONE"


def test_work_that_was_submitted_is_known_where_git_keeps_no_reflog(ctx: Ctx, repo: Repo) -> None:
    repo.git("config", "core.logAllRefUpdates", "false")
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    case = Case(ctx, repo, branch, number)
    case.theirs()
    pull_main(case)
    assert ctx.fails("tasks", "done", at=repo.folder).reason == "no_own_commit"
    repo.write("README", "work\n")
    ctx.json("tasks", "pr", "-m", "Work", at=repo.folder)
    case.on_main(("merge", "-q", "--ff-only", case.theirs_of_ours))
    assert ctx.json("tasks", "done", at=repo.folder)["proof"] == "ancestor"


@pytest.fixture
def on_github(case: Case) -> Iterator[GitHub]:
    repo = case.repo
    with GitHub(lambda branch: git(repo.bare, "rev-parse", branch)).running() as server:
        address = f"{server.url}/{server.path}.git"
        repo.git("config", f"url.{repo.bare}.insteadOf", address)
        repo.git("remote", "set-url", "origin", address)
        case.ctx.set(git_provider="github", github_token=server.token)
        yield server


def test_a_suggestion_committed_on_the_web_does_not_hide_the_merge(
    case: Case, on_github: GitHub
) -> None:
    work(case)
    case.ctx.json("tasks", "pr", at=case.repo.folder)
    side = case.others
    side.git("switch", "-q", case.branch)
    side.commit("work.txt", "as suggested\n")
    side.git("push", "-q", "origin", case.branch)
    on_github.pulls[0].head = git(case.repo.bare, "rev-parse", case.branch)
    case.on_main(("merge", "-q", "--squash", case.theirs_of_ours), ("commit", "-qm", "Squashed"))
    on_github.merge(on_github.pulls[0])
    assert case.ctx.json("tasks", "done", at=case.repo.folder)["proof"] == "forge"


def test_the_forge_is_not_believed_about_a_branch_that_changes_nothing(
    case: Case, on_github: GitHub
) -> None:
    case.repo.git("commit", "-q", "--allow-empty", "-m", "Nothing")
    case.ctx.json("tasks", "pr", at=case.repo.folder)
    on_github.merge(on_github.pulls[0])
    assert case.ctx.fails("tasks", "done", at=case.repo.folder).reason == "no_own_commit"


def test_there_are_at_least_thirty_cases() -> None:
    assert len(PROVEN) + len(REFUSED) + len(REVERTED) >= 30
