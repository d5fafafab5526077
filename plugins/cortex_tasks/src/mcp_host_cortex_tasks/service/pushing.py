"""Pushing a task's branch, also where it was rewritten since we pushed it last."""

from dataclasses import dataclass

from ..errors import RefusedError, UnavailableError
from ..storage.git import Remote, cause, refusal
from .plan import Plan, Refs
from .work import OWN_PUSHED, Work


@dataclass(frozen=True, slots=True)
class There:
    """Where the remote has a branch, and whether that is ours to replace: we pushed it."""

    tip: str | None
    rewritten: bool = False


def look_there(work: Work, branch: str) -> There:
    """Return where the remote has a branch; raise where it holds what others pushed and we lack."""
    git, tip = work.checkout, work.where(branch)
    local = git.ask("rev-parse", f"refs/heads/{branch}")
    if tip is None or git.is_ancestor(tip, local):
        return There(tip)
    if was_pushed(work, branch, tip):
        return There(tip, rewritten=True)
    remote = git.push_to(branch)
    if remote is not None and git.commit_of(tip) is None:
        remote.fetch(branch)
    if git.commit_of(tip) is None:
        raise UnavailableError(
            f"The remote's {branch} cannot be fetched.", reason="remote_unreachable"
        )
    ahead, behind = git.count(tip, local), git.count(local, tip)
    raise RefusedError(
        f"{branch} and the remote's have diverged: {ahead} ahead, {behind} behind."
        f" What {remote} has was not pushed from here.",
        reason="diverged",
        suggestions=[
            f"Take in what is there, commit by commit once: git merge {remote}/{branch}",
            f"See both first: git log --left-right {branch}...{remote}/{branch}",
        ],
        details={"ahead": ahead, "behind": behind, "remote_tip": tip},
    )


def plan_push(work: Work, plan: Plan, branch: str, there: There, *, keep: bool = True) -> None:
    """Plan to push a branch. Of one that was rewritten the remote's old tip is kept first, unless
    that is done already."""
    remote = work.checkout.push_to(branch)
    if keep and there.rewritten and there.tip is not None:
        _plan_keep(work, plan, branch, there.tip)

    def push() -> Refs:
        if remote is None:
            raise _no_remote(work)
        ref = f"refs/heads/{branch}"
        lease = (f"--force-with-lease={ref}:{there.tip}",) if there.rewritten else ()
        answer = remote.push("--set-upstream", *lease, specs=(f"{ref}:{ref}",))
        if not answer.ok:
            # git ends with 1 when it or the remote refuses, with 128 when it got nowhere.
            if answer.status == 1 or "\n!\t" in f"\n{answer.out}":
                raise refusal(answer, f"{branch} was not taken by {remote}", reason="push_refused")
            raise unreachable(remote, answer.complaint)
        tip = work.checkout.commit_of(ref)
        if tip is not None:
            note_pushed(work, branch, tip)
        return {"commit": tip}

    plan.add(
        "push",
        f"push {branch} to {remote or 'a remote'}",
        push,
        before={"commit": there.tip},
        after={"branch": branch, "remote": str(remote) if remote else None},
    )


def was_pushed(work: Work, branch: str, tip: str) -> bool:
    """Tell whether a tip of a branch was pushed by a command of this clone."""
    return tip in work.checkout.values_of(f"branch.{branch}.{OWN_PUSHED}")


def note_pushed(work: Work, branch: str, tip: str) -> None:
    """Let git remember that a tip of a branch was pushed from here."""
    key = f"branch.{branch}.{OWN_PUSHED}"
    if tip not in work.checkout.values_of(key):
        work.checkout.ask("config", "--add", key, tip)


def unreachable(remote: Remote, complaint: str) -> UnavailableError:
    """The error for a remote that git could not speak to."""
    return UnavailableError(
        f"{remote} cannot be reached: {cause(complaint)}",
        reason="remote_unreachable",
        details={"git": complaint[-2000:]},
    )


def _plan_keep(work: Work, plan: Plan, branch: str, tip: str) -> None:
    def keep() -> Refs:
        wanted = f"{branch}-{tip[:12]}"
        item = work.kept.keep_commit(tip, wanted, branch=branch, task_id=plan.task_id)
        plan.kept.append(item.as_data())
        plan.warnings.append(
            f"{branch} was rewritten since it was pushed: what the remote had is kept as {item.id}."
        )
        return {"ref": item.id}

    plan.add(
        "keep_pushed",
        f"keep {tip[:10]}, which the remote has, as {branch}-{tip[:12]}",
        keep,
        before={},
        after={"commit": tip},
    )


def _no_remote(work: Work) -> UnavailableError:
    names = work.checkout.remote_names
    if names:
        return UnavailableError(
            f"It is not clear which remote to push to: there are {', '.join(names)}.",
            reason="no_remote",
            suggestions=[f"git config remote.pushDefault {names[0]}"],
        )
    return UnavailableError(
        "There is no remote to push to.",
        reason="no_remote",
        suggestions=["git remote add origin URL"],
    )
