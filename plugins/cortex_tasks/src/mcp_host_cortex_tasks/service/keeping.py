"""The steps that keep what a command would otherwise leave without a name."""

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
