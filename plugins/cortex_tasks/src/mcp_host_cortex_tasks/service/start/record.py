"""What git remembers of a task's branch."""

from ..plan import Refs
from ..work import NOBODY, OWN_CREATED, OWN_ON, OWN_SESSION, OWN_START, OWN_TASK
from .starting import Starting


def plan_record(it: Starting, start: str | None) -> None:
    """Let git remember whose branch it is and where it began; both go when the branch goes."""
    section = f"branch.{it.name}"
    known = {OWN_TASK: str(it.task.id), OWN_CREATED: it.task.created_at}
    if it.work.session not in (None, NOBODY):
        known[OWN_SESSION] = it.work.session
    values = {
        key: value
        for key, value in known.items()
        if value and it.git.config(f"{section}.{key}") != value
    }
    begun = start or it.git.first_of_reflog(it.name)
    if begun and it.git.config(f"{section}.{OWN_START}") is None:
        values[OWN_START] = begun
    values |= _known_of_stack(it, section)
    if not values:
        return

    def record() -> Refs:
        for key, value in values.items():
            it.git.ask("config", f"{section}.{key}", value)
        return {}

    it.plan.add(
        "record",
        "record the branch as the task's",
        record,
        before={},
        after={"branch": it.name},
    )


def _known_of_stack(it: Starting, section: str) -> dict[str, str]:
    """What to note of a stack: as asked, else as the clone that claimed the task has it."""
    if it.git.config(f"{section}.{OWN_ON}") is not None:
        return {}
    if it.on is not None and it.made:
        return {OWN_ON: it.on}
    claim = it.work.claims.known(it.task.id)
    if claim is None or claim.on is None or claim.branch != it.name:
        return {}
    return {OWN_ON: claim.on} | ({OWN_START: claim.base} if claim.base else {})
