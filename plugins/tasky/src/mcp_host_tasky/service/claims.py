"""Who works on what: claims are leases, and a claim that lives is a fence around its task."""

import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace

from ..errors import ConflictError, NotFoundError
from ..model import Claim, Status, Summary, Task, Wanted, latest_lease, lease_end
from ..model.dates import seconds
from .draft import Stamp
from .inputs import Operation
from .readiness import LOOKED_AT, Unblocks, ranked, unblocked_by
from .write import Work

_MOST_COUNTED = 1_000
"""So many that wait for a task are counted, and of many tasks so many times as many in all."""
_TOGETHER = 20


def take(work: Work, task: Task, operation: Operation, stamp: Stamp) -> str:
    """Take a task or hold it longer; return the token that proves it. Whoever shows the token of a
    claim that ended means to go on, and is told: the task may have been another's since."""
    if not task.is_open:
        raise ConflictError(
            f"“{task.name}” is {task.status}; only a pending task can be claimed.",
            reason="not_open",
        )
    claim = task.live_claim(work.at)
    if claim is None and (operation.action == "renew" or operation.token is not None):
        raise _lost(task)
    if claim is None:
        return _claim(work, task, operation, stamp)
    if not _is_holder(claim, operation, stamp):
        raise _lost(task) if operation.token else _held(task, claim)
    until = _until(work, operation)
    if operation.action == "claim" and operation.token and claim.holder != stamp.actor.key:
        # The holder comes back over another connection, as after a restart.
        moved = replace(claim, claimant=stamp.actor.name, holder=stamp.actor.key, until=until)
        work.draft.set_claim(task, "claim", stamp, moved)
    else:
        work.draft.set_claim(task, "renew", stamp, replace(claim, until=until))
    return claim.token


def take_next(work: Work, operation: Operation, stamp: Stamp) -> None:
    """Choose what unblocks the most among the tasks that can be begun and that nobody holds,
    and claim it."""
    for task, unblocks in _ready(work, operation.tags):
        token = _claim(work, task, operation, stamp)
        said = {"claim_token": token, "why": unblocks.why}
        work.touched(task.task_id, stamp, said, in_full=True)
        return
    among = f" with the tags {', '.join(operation.tags)}" if operation.tags else ""
    raise NotFoundError(
        f"No task{among} can be begun: each is done, waits for another, or is claimed.",
        reason="nothing_ready",
        suggestions=["Search for pending tasks to see what they wait for and who holds them."],
    )


def release(work: Work, task: Task, operation: Operation, stamp: Stamp) -> None:
    """Give a claim back. Where there is none that lives, that is already so, but whoever shows the
    token of one that ended is told: the task may have been another's since."""
    claim = task.claim
    if operation.token is not None and task.is_open and not work.force:
        check_fence(work, task, operation, stamp)
    if claim is None:
        return
    if work.force or _is_holder(claim, operation, stamp):
        work.draft.set_claim(task, "release", stamp, None)
    elif claim.is_live(work.at):
        raise _not_holder(task, claim)


def check_fence(
    work: Work, task: Task, operation: Operation, stamp: Stamp, *, warns: bool = False
) -> str | None:
    """Raise where somebody else holds the task, or return a warning where that is enough.

    Whoever shows a token means to act as the holder: one of a claim that ended is refused.
    """
    claim = task.live_claim(work.at)
    if operation.token is not None:
        if claim is None or not _is_holder(claim, operation, stamp):
            raise _lost(task)
        return None
    if claim is None or work.force or _is_holder(claim, operation, stamp):
        return None
    if warns:
        return f"{claim.claimant!r} holds this task until {claim.until}: leave a note."
    raise _held(task, claim)


def _claim(work: Work, task: Task, operation: Operation, stamp: Stamp) -> str:
    actor = stamp.actor
    # Who is proven by nothing gets a name that tells one claim from another.
    is_nameless = not actor.is_proven and operation.agent is None
    name = f"{actor.name}-{secrets.token_hex(3)}" if is_nameless else actor.name
    claim = Claim(name, secrets.token_urlsafe(12), _until(work, operation), actor.key)
    work.draft.set_claim(task, "claim", stamp, claim)
    return claim.token


def _until(work: Work, operation: Operation) -> str:
    return lease_end(work.at, operation.lease_seconds or work.plan.lease_seconds)


def _ready(work: Work, tags: tuple[str, ...]) -> Iterator[tuple[Task, Unblocks]]:
    """Return what can be begun and is free, as the draft has it, and what it unblocks."""
    draft = work.draft
    wanted = Wanted(
        ready_for="", tags=tags, now=seconds(work.at), latest_lease=latest_lease(work.at)
    )
    changed = [
        task for task in draft.touched_or_freed() if task.is_open and set(tags) <= set(task.tags)
    ]
    place: tuple[int, str] | None = None
    while True:
        rows = draft.most_unblocking(wanted, place, LOOKED_AT)
        place = (rows[-1].unblocks, rows[-1].sort_key) if rows else None
        known = {row.task_id: row for row in rows}
        known |= {row.task_id: row for row in _rows(work, changed)}
        candidates = list(known.values())
        unblocks = unblocked_by(draft, candidates)
        # What the draft holds of a task is looked at in this order: mostly the first is free.
        for row in ranked(candidates, unblocks):
            draft.load([row.task_id])
            task = draft.task(row.task_id)
            if task is not None and _is_free(work, task):
                yield task, unblocks[row.task_id]
        changed = []
        if len(rows) < LOOKED_AT:
            return


def _rows(work: Work, tasks: Collection[Task]) -> list[Summary]:
    """Return tasks as the draft has them as rows of a list, with how many wait for each."""
    if not tasks:
        return []
    ids = [task.task_id for task in tasks]
    waiting = work.draft.open_waiting(ids, _MOST_COUNTED * min(len(ids), _TOGETHER))
    return [Summary.of(task, unblocks=len(waiting.get(task.task_id, ()))) for task in tasks]


def _is_free(work: Work, task: Task) -> bool:
    if task.status is not Status.PENDING or task.live_claim(work.at):
        return False
    return not work.draft.open_among(task.blockers) and not work.draft.is_held_up(task)


def _is_holder(claim: Claim, operation: Operation, stamp: Stamp) -> bool:
    if operation.token is not None:
        return secrets.compare_digest(operation.token.encode(), claim.token.encode())
    return stamp.actor.is_proven and claim.holder == stamp.actor.key


def _held(task: Task, claim: Claim) -> ConflictError:
    return ConflictError(
        f"“{task.name}” is claimed by {claim.claimant!r} until {claim.until}.",
        reason="claimed",
        suggestions=[
            "Take another task (action next), or wait for the lease's end.",
            "If the claim is yours, say agent as you claimed it, or show its claim_token as token.",
        ],
        details={"claimed_by": claim.claimant, "claimed_until": claim.until},
    )


def _lost(task: Task) -> ConflictError:
    """Refuse a renewal, or a token, of a claim that has ended or never was."""
    claim = task.claim
    if not task.is_open:
        now = f"it is {task.status}"
    elif claim is None:
        now = "nobody holds it"
    else:
        now = f"the claim of {claim.claimant!r} runs or ran until {claim.until}"
    return ConflictError(
        f"You do not hold the claim of “{task.name}” any more: {now}.",
        reason="not_claimant",
        suggestions=["Get the task to see what happened to it, then claim it anew."],
    )


def _not_holder(task: Task, claim: Claim) -> ConflictError:
    return ConflictError(
        f"You do not hold the claim of “{task.name}”; {claim.claimant!r} holds it.",
        reason="not_claimant",
        suggestions=["Claim the task, or show the token that the claim returned."],
    )
