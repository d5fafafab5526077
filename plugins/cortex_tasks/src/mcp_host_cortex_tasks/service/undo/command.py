"""Take the last command back, step by step from its end, where nobody went on from it."""

from ...errors import BusyError, NotFoundError, RefusedError
from ...storage.journal import Entry, Journal, Turn
from ..plan import REACHING_OUT
from ..work import Work
from .here import Here
from .there import There

NOTHING_TO_TAKE_BACK = frozenset(("keep", "keep_pushed", "comment", "retarget"))
"""Steps that hurt nobody where they are left."""


def undo(work: Work) -> dict[str, object]:
    """Take back the newest command of this repository, or of the user where there is none newer.

    Every step compares first: what was changed since refuses, what is back already is passed over.
    Commits stay reachable under `refs/cortex/kept/`.
    """
    try:
        checkout = work.checkout
    except NotFoundError:
        return _undo(work, work.own_journal, work.own_journal.last())
    with work.turn() as turn:
        turn.take()
        found = [(journal.last(), journal) for journal in (work.journal, work.own_journal)]
        there = [(entry.began, entry, journal) for entry, journal in found if entry is not None]
        if not there:
            return _undo(work, work.journal, None)
        _, entry, journal = max(there, key=lambda item: item[0])
        if doing := checkout.under_way():
            raise RefusedError(f"A {doing} is in progress here.", reason="operation_in_progress")
        if entry.running:
            raise BusyError(
                f"{entry.command} of task {entry.task_id} is still at work.",
                reason="repository_locked",
                suggestions=["Wait for it, then run this again."],
            )
        return _undo(work, journal, entry, turn)


def _undo(
    work: Work, journal: Journal, entry: Entry | None, turn: Turn | None = None
) -> dict[str, object]:
    if entry is None:
        raise NotFoundError("There is nothing to take back.", reason="nothing_to_undo")
    result: dict[str, object] = {
        "success": True,
        "undone": entry.command,
        "task_id": entry.task_id,
    }
    kept: list[dict[str, object]] = []
    kinds = Here(work, entry, kept).kinds | There(work, entry).kinds
    under_way = next((step for step in entry.steps if not step.done), None)
    steps = [step for step in reversed(entry.steps) if step.done or step is under_way]
    if work.dry_run:
        return {**result, "dry_run": True, "would": [f"take back: {step.what}" for step in steps]}
    taken: list[str] = []
    for step in steps:
        if turn is not None:
            turn.leave() if step.name in REACHING_OUT else turn.take()
        if step.name not in NOTHING_TO_TAKE_BACK and kinds[step.name](step):
            taken.append(step.what)
        step.done = False
        journal.keep(entry)
    entry.undone = True
    journal.keep(entry)
    return {**result, "steps": taken} | ({"kept": kept} if kept else {})
