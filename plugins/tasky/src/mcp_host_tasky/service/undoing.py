"""Taking back what was done: a call, or one operation of it."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

from ..errors import ConflictError, NotFoundError, PermissionDeniedError
from ..model import Change, Event, Task
from ..storage import Reading
from .content import notes_made, plain, restored
from .draft import Draft, Stamp
from .ids import resolve
from .requests import Actor

_LOOKED_BACK = 1_000


def undo(
    draft: Draft,
    event_id: int | None,
    stamp: Stamp,
    token: str | None,
    refuse_held: Callable[[Task], None],
) -> list[str]:
    """Take back a call or one operation of it; return the ids of the tasks that it touched.

    Who is proven by nothing shows the token that the call answered. `refuse_held` is asked
    before a task is closed or removed.
    """
    if not stamp.actor.is_proven and event_id is None:
        raise undo_token_required()
    events = _to_undo(draft.reading, event_id, stamp.actor)
    if token is not None:
        _check_undo_token(events, token)
    elif not stamp.actor.is_proven:
        raise undo_token_required()
    draft.load(event.task_id for event in events)
    touched = list(dict.fromkeys(event.task_id for event in events))
    for event in reversed(events):
        task = draft.task(event.task_id)
        _take_back(draft, event, stamp)
        after = draft.task(event.task_id)
        if task and task.is_open and not (after and after.is_open):
            refuse_held(task)
    restored_tasks = [task for task_id in touched if (task := draft.task(task_id))]
    draft.load({one for task in restored_tasks for one in _related(task)})
    draft.foresee(restored_tasks)
    draft.foresee_deletion([task_id for task_id in touched if draft.task(task_id) is None])
    for task_id in touched:
        _check_restored(draft, task_id)
    return touched


def last_change(reading: Reading, said: str) -> int:
    """Return the event that made a task what it is; for a deleted one, its deletion."""
    task_id = resolve(reading, said)
    for event in reading.events(task_id=task_id, limit=_LOOKED_BACK):
        if event.can_be_undone and event.undone_by is None:
            return event.event_id
    raise NotFoundError(f"Nothing of task {said!r} is left to undo.", reason="nothing_to_undo")


def _to_undo(reading: Reading, event_id: int | None, actor: Actor) -> list[Event]:
    if event_id is None:
        batch = reading.last_batch(actor.key)
        if batch is None:
            raise NotFoundError(
                f"There is nothing of {actor.name!r} left to undo.", reason="nothing_to_undo"
            )
        events = reading.batch(batch)
    else:
        event = reading.events_by_id([event_id]).get(event_id)
        if event is None:
            raise NotFoundError(
                f"There is no event {event_id}.",
                reason="event_not_found",
                suggestions=["Event ids stand in answers of writes and in the history of tasks."],
            )
        _refuse_not_undoable(event)
        same_batch = reading.batch(event.batch)
        events = [other for other in same_batch if other.item == event.item]
    return [event for event in events if event.can_be_undone and event.undone_by is None]


def _take_back(draft: Draft, event: Event, stamp: Stamp) -> None:
    task = draft.task(event.task_id)
    gone = event.action == "delete"
    if draft.has_undone(event) or (task is not None) == gone:
        raise _changed_since(event)
    if task is None:
        before = restored(event, stamp.at)
        changes = {"name": Change(None, before.name)}
    elif task.last_event != event.event_id or (
        event.action == "create" and len(task.notes) > notes_made(event)
    ):
        raise _changed_since(event)
    else:
        before = _as_before(task, event, stamp)
        changes = {name: Change(c.after, c.before) for name, c in event.changes.items()}
    draft.take_back(event, before, changes, stamp)


def _as_before(task: Task, event: Event, stamp: Stamp) -> Task:
    """Return the task with the content that it had before an event."""
    known = {} if event.action == "create" else event.changes
    before = replace(
        task,
        **{name: plain(name, change.before) for name, change in known.items()},
        last_event=event.previous,
        revision=task.revision + 1,
        updated_at=max(stamp.at, task.updated_at),
    )
    return before if before.is_open else replace(before, claim=None)


def _check_restored(draft: Draft, task_id: str) -> None:
    """Refuse an undo whose result would point at tasks that are gone, or in a circle."""
    task = draft.task(task_id)
    if task is None:
        referring = draft.referring(task_id)
        if referring:
            raise _in_the_way(f"“{referring[0].name}” refers to a task that would go away")
        return
    needed = _related(task)
    draft.load(needed)
    if any(draft.task(other) is None for other in needed):
        raise _in_the_way(f"“{task.name}” would refer to a task that was deleted since")
    draft.refuse_cycles(task)


def _related(task: Task) -> list[str]:
    """Return the tasks that this one waits for, and the one that it is part of."""
    return [*task.blockers, *([task.subtask_of] if task.subtask_of else [])]


def _refuse_not_undoable(event: Event) -> None:
    if event.undone_by is not None:
        raise ConflictError(
            f"Event {event.event_id} was already undone, by event {event.undone_by}.",
            reason="already_undone",
        )
    if not event.can_be_undone:
        way = {
            "claim": "Release the claim instead.",
            "release": "Claim the task again.",
            "note": "Notes stay; add another.",
        }
        raise ConflictError(
            f"Event {event.event_id} is of the kind {event.action!r}, which cannot be undone.",
            reason="cannot_undo",
            suggestions=[way.get(event.action, "Make the change again.")],
        )


def undo_key(token: str) -> str:
    """Return what is kept of an undo token: who reads the plan must not learn the token."""
    return sha256(token.encode()).hexdigest()


def undo_token_required() -> PermissionDeniedError:
    return PermissionDeniedError(
        "Nothing proves who you are: undo takes the event_id and the undo_token of the answer to "
        "the call.",
        reason="undo_token_required",
        suggestions=["Give event_id and undo_token, or make the change by an update."],
    )


def _check_undo_token(events: Sequence[Event], token: str) -> None:
    shown = undo_key(token)
    if not all(secrets.compare_digest(shown, event.undo_key) for event in events):
        raise PermissionDeniedError(
            "undo_token must be the one that the call to undo answered.",
            reason="wrong_undo_token",
        )


def _changed_since(event: Event) -> ConflictError:
    return ConflictError(
        f"“{event.name}” ({event.task_id[:8]}) changed since event {event.event_id}.",
        reason="changed_since",
        suggestions=["Undo the later events first, or make the change by an update."],
        details={"event_id": event.event_id, "task_id": event.task_id},
    )


def _in_the_way(what: str) -> ConflictError:
    return ConflictError(
        f"{what}.",
        reason="changed_since",
        suggestions=["Undo the later events first, or make the change by an update."],
    )
