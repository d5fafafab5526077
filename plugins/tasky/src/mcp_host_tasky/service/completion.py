"""When a task is done: what is still open of it or before it, its conditions, and its parent."""

import json
import re

from ..errors import ConflictError
from ..model import Status, Task
from .draft import Stamp
from .proofs import Asked
from .write import Work

_TOLD = 3


def check(work: Work, task: Task, stamp: Stamp, names: object = None) -> None:
    """Refuse or warn of a completion that comes too early. `names` are the conditions that the
    same operation gives the task."""
    conditions = names if isinstance(names, tuple) else task.done_when
    _check_conditions(work, task, conditions, stamp)
    parts = work.draft.subtasks([task.task_id])[task.task_id]
    if waits := _named(work, task.blockers):
        if work.plan.refuses_blocked and not work.force:
            raise ConflictError(
                f"“{task.name}” waits for open tasks: {waits}.",
                reason="blocked",
                suggestions=["Complete those first, or remove them from its blockers."],
            )
        work.warn(stamp.item, f"Completed, although it waited for open tasks: {waits}.")
    if left := _named(work, parts):
        work.warn(stamp.item, f"Completed, although it has as its parts open tasks: {left}.")


def close_parent(work: Work, task: Task, stamp: Stamp) -> None:
    """Complete the task that this one was the last open part of, and so on upwards, where the
    plan's settings want that; what keeps a parent open is told."""
    child = work.draft.task(task.task_id)
    while work.plan.closes_parents and child and not child.is_open and child.subtask_of:
        parent = work.draft.task(child.subtask_of)
        if parent is None or not parent.is_open:
            return
        parts = work.draft.subtasks([parent.task_id])[parent.task_id]
        tasks = [found for one in parts if (found := work.draft.task(one))]
        if any(one.is_open for one in tasks):
            return
        if not any(one.status is Status.COMPLETED for one in tasks):
            return
        if why := _keeps_open(work, parent, stamp):
            told = f"All parts of “{parent.name}” are closed, but it stays open: {why}."
            work.warn(stamp.item, told)
            return
        work.draft.change(parent, "complete", stamp, status=Status.COMPLETED)
        work.warn(stamp.item, f"“{parent.name}” was completed with the last of its parts.")
        child = work.draft.task(parent.task_id)


def _keeps_open(work: Work, parent: Task, stamp: Stamp) -> str | None:
    claim = parent.live_claim(work.at)
    if claim and not (stamp.actor.is_proven and claim.holder == stamp.actor.key):
        return f"{claim.claimant!r} holds it"
    if waits := _named(work, parent.blockers):
        return f"it waits for {waits}"
    try:
        _check_conditions(work, parent, parent.done_when, stamp)
    except ConflictError as error:
        return error.message.rstrip(".")
    return None


def _check_conditions(work: Work, task: Task, names: tuple[str, ...], stamp: Stamp) -> None:
    if not names or work.force:
        return
    unknown = [name for name in names if name not in work.plan.conditions]
    if unknown:
        table = f"[done_conditions.{_key(unknown[0])}]"
        raise ConflictError(
            f"“{task.name}” is done when {unknown[0]!r} holds, and your settings do not say what "
            "that means.",
            reason="condition_unknown",
            suggestions=[
                f"Add to ~/.tasky/config.toml: {table} with run or file.",
                "Or change the task's done_when.",
            ],
        )
    if work.proofs is None:
        work.warn(stamp.item, f"Not looked at in a dry run: {', '.join(names)}.")
        return
    for name in names:
        key = (task.task_id, name)
        if key not in work.proofs:
            work.to_prove.append(Asked(task.task_id, task.name, name))
        elif missing := work.proofs[key]:
            raise ConflictError(
                f"“{task.name}” is not done: {name} does not hold: {missing}.",
                reason="not_done",
                suggestions=["Mend that first, or change the task's done_when."],
                details={"condition": name},
            )


def _key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)


def _named(work: Work, ids: tuple[str, ...] | list[str]) -> str:
    """Return the names of those of the tasks that are open, the first few."""
    left = sorted(work.draft.open_among(ids))
    work.draft.load(left[:_TOLD])
    names = [f"“{one.name}”" for key in left[:_TOLD] if (one := work.draft.task(key))]
    more = f" and {len(left) - _TOLD} more" if len(left) > _TOLD else ""
    return ", ".join(names) + more
