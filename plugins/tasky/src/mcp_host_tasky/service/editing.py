"""How tasks are edited: content, states, claims."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from ..errors import Conflict
from ..model import NO_DETAILS, Claim, Status, Task
from ..model.dates import seconds
from . import inputs
from .creating import related
from .draft import Stamp
from .inputs import Operation
from .plan import clears
from .writing import Work


def edit(work: Work, items: Sequence[object]) -> None:
    """Apply the operations in their order; each sees what those before it did."""
    operations: dict[int, Operation] = {}
    for index, item in enumerate(items):
        with work.item(index):
            operations[index] = inputs.read_operation(item)
    work.draft.load(op.task_id for op in operations.values() if len(op.task_id) == 36)
    for index, operation in operations.items():
        with work.item(index):
            _operate(work, operation, work.stamp(index, operation.agent))


def _operate(work: Work, operation: Operation, stamp: Stamp) -> None:
    if operation.action == "undo":
        event_id = operation.event_id
        if event_id is None and operation.task_id:
            event_id = work.draft.last_change(operation.task_id)
        for task_id in work.draft.undo(event_id, stamp):
            work.touched(task_id)
        return
    task = work.draft.found(operation.task_id)
    _check_revision(task, operation.if_revision)
    token = None
    match operation.action:
        case "update":
            _update(work, task, operation, stamp)
        case "delete":
            work.draft.delete(task, stamp)
        case "claim" | "renew":
            token = _claim(work, task, operation, stamp)
        case "release":
            _release(work, task, operation, stamp)
        case action:
            status = inputs.STATES[action]
            _check_transition(task, status)
            work.draft.change(task, action, stamp, status=status)
    work.touched(task.task_id, {"claim_token": token})


def _update(work: Work, task: Task, operation: Operation, stamp: Stamp) -> None:
    content = dict(operation.fields)
    if "details" in content:
        content["details"] = str(content["details"]).strip() or NO_DETAILS
    if "status" in content:
        _check_transition(task, inputs.status(content["status"]))
    if "due_date" in content:
        due = work.plan.due(str(content["due_date"]), work.at)
        content["due_date"] = str(due) if due else None
        content["due_at"] = seconds(due.end) if due else None
    if "blockers" in content:
        said = content["blockers"]
        assert isinstance(said, tuple)
        content["blockers"] = related(work.draft, said)
    if "subtask_of" in content:
        parent = str(content["subtask_of"])
        content["subtask_of"] = None if clears(parent) else related(work.draft, [parent])[0]
    after = work.draft.change(task, "update", stamp, **content)
    if (after.blockers, after.subtask_of) != (task.blockers, task.subtask_of):
        work.draft.refuse_cycles(after)


def _check_revision(task: Task, expected: int | None) -> None:
    if expected is not None and expected != task.revision:
        raise Conflict(
            f"“{task.name}” is at revision {task.revision}, not {expected}.",
            reason="stale_revision",
            suggestions=["Get the task again and decide anew."],
            details={"revision": task.revision},
        )


def _check_transition(task: Task, status: Status) -> None:
    if not task.status.may_become(status):
        raise Conflict(
            f"Cannot transition task '{task.task_id}' from {task.status} to {status}.",
            reason="invalid_transition",
            suggestions=["pending becomes completed or cancelled; both become pending again."],
        )


def _claim(work: Work, task: Task, operation: Operation, stamp: Stamp) -> str:
    """Take a task or hold it longer; return the token that proves it."""
    claim = task.claim
    is_live = claim is not None and claim.until > work.now
    if not task.is_open:
        raise Conflict(
            f"“{task.name}” is {task.status}; only a pending task can be claimed.",
            reason="not_open",
        )
    lease = timedelta(seconds=operation.lease_seconds or work.plan.lease_seconds)
    until = seconds(work.at + lease)
    if claim and _is_holder(claim, operation, stamp):
        action = "renew" if is_live else operation.action
        work.draft.set_claim(task, action, stamp, replace(claim, until=until))
        return claim.token
    if operation.action == "renew":
        raise _not_holder(task)
    if claim and is_live:
        raise Conflict(
            f"“{task.name}” is claimed by {claim.claimant!r} until {claim.until}.",
            reason="claimed",
            suggestions=["Take another task (search with ready), or wait for the lease's end."],
            details={"claimed_by": claim.claimant, "claimed_until": claim.until},
        )
    new = Claim(stamp.caller, secrets.token_urlsafe(12), until)
    work.draft.set_claim(task, "claim", stamp, new)
    return new.token


def _release(work: Work, task: Task, operation: Operation, stamp: Stamp) -> None:
    """Give a claim back; where there is none that lives, that is already so."""
    claim = task.claim
    if claim is None:
        return
    if _is_holder(claim, operation, stamp):
        work.draft.set_claim(task, "release", stamp, None)
    elif claim.until > work.now:
        raise _not_holder(task)


def _is_holder(claim: Claim, operation: Operation, stamp: Stamp) -> bool:
    if operation.token is not None:
        return secrets.compare_digest(operation.token.encode(), claim.token.encode())
    return claim.claimant == stamp.caller


def _not_holder(task: Task) -> Conflict:
    holder = f"{task.claim.claimant!r} holds it" if task.claim else "nobody does"
    return Conflict(
        f"You do not hold the claim of “{task.name}”; {holder}.",
        reason="not_claimant",
        suggestions=["Claim the task, or show the token that the claim returned."],
    )
