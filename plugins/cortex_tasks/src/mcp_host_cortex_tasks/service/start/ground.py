"""From where a task begins: what the remotes have of it, and where its branch begins."""

from ...errors import RefusedError
from ...storage.claims import CLAIMS
from .starting import Starting


def bring_up_to_date(it: Starting) -> None:
    """Fetch the main branch, and the task's where the remote has it; without a remote go on."""
    base = it.git.base
    if base is None or it.work.dry_run:
        return
    tips = look(it)
    if tips is None:
        it.plan.warnings.append("The remote cannot be reached; starting from what is known.")
        return
    it.reached = True
    if told := it.work.renamed(it.main):
        it.plan.warnings.append(told)
    there = tips.get(_claim_ref(it))
    if there is not None and there != it.git.object_of(_claim_ref(it)):
        it.work.claims.fetch(it.task.id)
    elif there is None:
        it.git.run("update-ref", "-d", _claim_ref(it))  # it was released
    head = it.git.push_to(it.name) or base
    wanted = [(base, it.main), (base, it.on), (head, it.name), (head, it.on)]
    for remote in {one.name: one for one, _ in wanted}.values():
        known = tips if remote is base else remote.tips(it.name) or {}
        names = {name for one, name in wanted if one is remote and name}
        stale = [name for name in sorted(names & known.keys())
                 if remote.tracked(name) != known[name]]  # fmt: skip
        if stale and (why := remote.fetch(*stale)):
            it.plan.warnings.append(f"{remote} could not be fetched: {why}")


def _claim_ref(it: Starting) -> str:
    return f"{CLAIMS}{it.task.id}"


def look(it: Starting) -> dict[str, str] | None:
    """Ask the base remote for all that a start needs of it, None where it cannot be reached."""
    on = [it.on] if it.on else []
    return it.work.look(it.name, *on, refs=(_claim_ref(it),))


def beginning(it: Starting) -> str:
    """Where a new branch begins: at the tip of the task that it stands on, else at main."""
    if it.on is None:
        return it.work.main_commit(it.main)
    remote = it.git.push_to(it.on)
    tip = it.git.commit_of(f"refs/heads/{it.on}")
    if tip is None and remote is not None:
        tip = remote.tracked(it.on)
    if tip is None:
        raise RefusedError(
            f"The branch {it.on} of task {it.lower} is not here.",
            reason="no_branch",
            suggestions=[f"ctx tasks start {it.lower}"],
        )
    return tip
