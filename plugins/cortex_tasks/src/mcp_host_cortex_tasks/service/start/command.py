"""Start a task: its branch (and worktree) first, the backend second."""

from dataclasses import dataclass

from ...errors import RefusedError
from ...storage.journal import Turn
from ..work import OWN_ON, Work
from .ground import bring_up_to_date, look
from .naming import check_name
from .place import is_apart, plan_branch
from .starting import Starting
from .telling import iso, plan_claim, plan_server


@dataclass(slots=True)
class Start:
    """What to start and how. `worktree` None means as the settings say.

    `steal` takes over a claim that another clone has; `on` is the task to stand on, for a stack.
    """

    work: Work
    task_id: int
    branch: str | None = None
    worktree: bool | None = None
    reopen: bool = False
    steal: bool = False
    on: int | None = None

    def run(self) -> dict[str, object]:
        """Give the task its branch and report it; starting again finds the same branch."""
        _ = self.work.checkout  # without a repository nobody is asked
        task = self.work.tasks.get(self.task_id)
        if task.status == "DONE" and not self.reopen:
            raise RefusedError(
                f"Task {task.id} is done already.",
                reason="task_done",
                suggestions=[f"ctx tasks start {task.id} --reopen"],
            )
        return _run(
            Starting(
                self.work,
                task,
                wanted=self.branch,
                worktree=self.worktree,
                steal=self.steal,
                lower=self.on,
            )
        )


def _run(it: Starting) -> dict[str, object]:
    """Plan, then do; what is refused is refused before anything is changed."""
    it.plan.branch = it.name
    if not it.is_somewhere():
        look(it)
    check_name(it)
    if not it.is_somewhere():
        bring_up_to_date(it)
    it.apart = is_apart(it, it.git.state())
    with it.work.turn(it.task.id, here=not it.apart) as turn:
        turn.take()
        it.look_again()
        return _settle(it, turn)


def _settle(it: Starting, turn: Turn) -> dict[str, object]:
    place = plan_branch(it, it.git.state())
    was_there = it.already
    plan_claim(it)
    plan_server(it)
    result: dict[str, object] = {
        "success": True,
        "task_id": it.task.id,
        "branch": it.name,
    }
    result["already"] = it.already
    if place is not None:
        result["worktree"] = str(place)
    result["project"] = str(place or it.git.root)
    result["base"] = it.on or it.git.config(f"branch.{it.name}.{OWN_ON}") or it.main
    if it.task.description:
        result["description"] = it.task.description
    if it.carried:
        result["carried"] = it.carried[:100]
    if it.work.dry_run:
        return _told(it, result) | {"dry_run": True, "would": it.plan.sentences}
    it.work.carry_out(it.plan, turn)
    it.work.kept.prune()
    # Another machine may have been faster; where the remote keeps claims, they decide.
    result["already"] = was_there if it.claimed else it.already
    return _told(it, result)


def _told(it: Starting, result: dict[str, object]) -> dict[str, object]:
    """Add what was kept and what should be known."""
    known = it.work.claims.known(it.task.id)
    result["claim"] = it.claim
    if it.claim == "remote" and known is not None and known.clone != it.work.claims.clone:
        whose: dict[str, object] = {"owner": known.owner, "since": iso(known.began)}
        if known.pending:
            whose["pending"] = list(known.pending)
            it.plan.warnings.append(
                f"{known.owner}'s last command stopped before: {', '.join(known.pending)}."
                " The same command here goes on with it."
            )
        result["claimed_by"] = whose
    told = {"kept": it.plan.kept, "warnings": it.plan.warnings}
    return result | {key: value for key, value in told.items() if value}
