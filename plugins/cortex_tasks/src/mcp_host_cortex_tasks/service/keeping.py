"""The steps that keep what a command would otherwise leave without a name."""

from collections.abc import Iterable

from ..storage.git import State
from .plan import Plan, Refs
from .work import Work


def plan_keeping(work: Work, plan: Plan, commit: str, *going: str, wanted: str) -> None:
    """Plan a ref of ours for a commit that no ref holds once those that are going have gone."""
    git = work.checkout
    if git.others_with(commit, *going):
        return

    def keep() -> Refs:
        item = work.kept.keep_commit(commit, wanted, branch=plan.branch, task_id=plan.task_id)
        plan.kept.append(item.as_data())
        return {"ref": item.id}

    plan.add(
        "keep",
        f"keep the commit {commit[:10]} as {wanted}",
        keep,
        before={},
        after={"commit": commit},
    )


def plan_keeping_detached(work: Work, plan: Plan, state: State) -> None:
    """Plan a ref of ours for commits on a detached HEAD, before it moves to a branch."""
    if state.branch is None and state.head is not None:
        plan_keeping(work, plan, state.head, wanted=f"detached-{state.head[:10]}")


def plan_putting_by(work: Work, plan: Plan, state: State, lost: Iterable[str] = ()) -> list[str]:
    """Plan to keep what is uncommitted, and of the files that would be lost those that git ignores.

    Return the others: what git was told not to look at, conflicts, repositories inside the tree.
    """
    git = work.checkout
    seen = {path for path in (*state.changed, *state.untracked) if not path.endswith("/")}
    rest = sorted({*lost} - seen)
    tracked = {*git.ask("ls-files", "-z", "--", *rest).split("\0")} if rest else set()
    ignored = [path for path in rest if path not in tracked and not path.endswith("/")]
    left = [*state.conflicted, *(path for path in rest if path not in ignored)]
    if left or not (seen or ignored):
        return left

    def put_by() -> Refs:
        item = work.kept.keep_work(git, git.state(), *ignored, task_id=plan.task_id)
        if item is None:
            return {}
        plan.kept.append(item.as_data())
        return {"id": item.id}

    plan.add("put_by", f"keep {len(seen) + len(ignored)} uncommitted files", put_by,
             before={}, after={})  # fmt: skip
    return []
