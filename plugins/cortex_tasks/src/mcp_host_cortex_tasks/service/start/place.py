"""Where a task is worked on: a switch of the folder at hand, or a worktree of its own."""

from pathlib import Path

from ...errors import RefusedError
from ...storage.git import State, Worktree, refusal, way_out
from ...storage.overwrites import overwritten_by
from ..keeping import plan_keeping_detached, plan_putting_by
from ..plan import Refs
from ..room import furnish, place_of, taken_by_another, wanted_room
from .ground import beginning
from .naming import refuse_blocked_name
from .record import plan_record
from .starting import Starting


def plan_branch(it: Starting, state: State) -> Path | None:
    """Plan what git must do, and return the worktree that the task is in, if it is in one."""
    trees = it.git.worktrees()
    holding = next((tree for tree in trees if tree.branch == it.name), None)
    if holding is not None and not holding.gone:
        it.already = True
        plan_record(it, None)
        here = _same(holding.path, it.git.root) and _same(holding.path, trees[0].path)
        return None if here else holding.path
    tip = it.git.commit_of(f"refs/heads/{it.name}")
    remote = it.git.push_to(it.name)
    seen = None if tip or remote is None else remote.tracked(it.name)
    it.already = (tip or seen) is not None
    it.made = not it.already
    if tip is None:
        refuse_blocked_name(it)
    start = tip or seen or beginning(it)
    if it.apart or is_apart(it, state):
        place = _plan_worktree(it, trees, start, is_new=tip is None)
    else:
        place = None
        _plan_switch(it, state, start, is_new=tip is None)
    plan_record(it, None if tip else start if seen is None else _fork_point(it, seen))
    return place


def is_apart(it: Starting, state: State) -> bool:
    """Tell whether the task gets a worktree; refuse a taken folder where it may get none."""
    if it.is_somewhere():
        return False
    room = wanted_room(it.work, it.worktree)
    if room == "always" or it.git.bare:
        return True
    taken = taken_by_another(it.work, state, it.task.id)
    if room == "auto":
        return taken is not None or it.git.under_way() is not None
    if taken is not None:
        raise RefusedError(
            f"This folder is not free: {taken.why}.",
            reason="folder_taken",
            suggestions=[
                f"ctx tasks start {it.task.id} --worktree",
                "Or commit what is here first, or keep it:"
                f" ctx tasks start {it.task.id} --no-worktree --keep",
            ],
            details={"files": list(taken.files[:100])},
        )
    return False


def _plan_switch(it: Starting, state: State, start: str, *, is_new: bool) -> None:
    """Plan to switch the folder at hand to the branch, with what is uncommitted or without."""
    if doing := it.git.under_way():
        raise RefusedError(
            f"A {doing} is in progress here.",
            reason="operation_in_progress",
            suggestions=[f"Finish it, or: {way_out(doing)}"],
        )
    lost = overwritten_by(it.git, state, start)
    if it.work.keep:
        lost = plan_putting_by(it.work, it.plan, state, lost)
    else:
        it.carried = sorted({*state.changed, *state.untracked})
    _refuse_to_lose(it, lost)
    plan_keeping_detached(it.work, it.plan, state)
    back = state.branch or state.head
    how = ("--no-track", "--create", it.name, start) if is_new else (it.name,)

    def switch() -> Refs:
        answer = it.git.switch(*how)
        # A post-checkout hook that fails makes git fail after it has switched.
        if not answer.ok and it.git.state().branch != it.name:
            raise refusal(answer, f"Git cannot switch to {it.name}", reason="switch_refused")
        return {}

    what = f"make and switch to the branch {it.name}" if is_new else f"switch to {it.name}"
    made = start if is_new else None
    it.plan.add(
        "branch",
        what,
        switch,
        before={"head": back},
        after={"branch": it.name, "made": made},
    )


def _refuse_to_lose(it: Starting, lost: list[str]) -> None:
    """Name the files that a switch would overwrite: changed, untracked or ignored ones."""
    if lost:
        raise RefusedError(
            f"Files that are in no commit would be overwritten: {', '.join(lost[:10])}",
            reason="uncommitted_changes",
            suggestions=[
                f"Keep what is uncommitted here: ctx tasks start {it.task.id} --keep",
                f"Or start in a worktree: ctx tasks start {it.task.id} --worktree",
            ],
            details={"files": lost},
        )


def _plan_worktree(it: Starting, trees: list[Worktree], start: str, *, is_new: bool) -> Path:
    """Plan a worktree for the branch and return where it will be."""
    place = place_of(it.work, trees, f"{it.task.id}-{it.name}")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise RefusedError(
            f"{place} is in the way of the worktree.",
            reason="worktree_blocked",
            suggestions=["Move it away, or start with --no-worktree."],
        )
    how = ("--no-track", "-b", it.name, str(place), start) if is_new else (str(place), it.name)

    def add() -> Refs:
        for tree in trees:
            if tree.gone and (tree.branch == it.name or tree.path == place):
                # A record of a folder that was deleted by hand would hold the branch.
                it.git.run("worktree", "remove", "--force", "--force", str(tree.path))
        answer = it.git.run("worktree", "add", "--quiet", *how)
        if not answer.ok and not any(tree.branch == it.name for tree in it.git.worktrees()):
            raise refusal(answer, "Git cannot make the worktree", reason="worktree_refused")
        it.plan.warnings += furnish(it.work, it.git.root, place)
        return {}

    made = start if is_new else None
    it.plan.add(
        "worktree",
        f"make the worktree {place}",
        add,
        before={},
        after={"branch": it.name, "path": str(place), "made": made},
    )
    return place


def _fork_point(it: Starting, seen: str) -> str:
    answer = it.git.run("merge-base", seen, it.work.main_commit(it.main))
    return answer.out.strip() if answer.ok else seen


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
