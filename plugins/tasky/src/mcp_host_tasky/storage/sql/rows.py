"""Tasks, events and summaries as rows of the tables, and back."""

import json
from collections.abc import Sequence
from typing import Any

from ...model import Change, Claim, Event, Note, Source, Status, Summary, Task, Wanted

TASK = (
    "task_id, number, name, details, status, priority, due_date, due_at, tags, blockers, "
    "subtask_of, created_at, updated_at, revision, last_event, claimant, claim_token, "
    "claimed_until, holder, claims, notes, done_when, discovered_from, source"
)
TASK_COLUMNS = [*TASK.split(", "), "sort_key"]
EVENT = (
    "event_id, batch, item, at, caller, action, task_id, name, revision, changes, previous, "
    "undoes, undone_by, actor, undo_key"
)
EVENT_COLUMNS = EVENT.split(", ")
_compact = json.JSONEncoder(separators=(",", ":")).encode
SUMMARY = "task_id, name, status, priority, due_date, sort_key, claimant, claimed_until"


def task_row(task: Task) -> tuple[Any, ...]:
    return tuple(map(_stored, _values(task)))


def changed_columns(old: Task, new: Task) -> tuple[tuple[str, ...], list[Any]]:
    """Return which columns differ, and what the new task has there."""
    had, has = _values(old), _values(new)
    changed = [at for at, value in enumerate(has) if had[at] != value]
    return tuple([TASK_COLUMNS[at] for at in changed]), [_stored(has[at]) for at in changed]


def _values(task: Task) -> tuple[Any, ...]:
    """Return what stands in the columns, lists not yet as text."""
    claim = task.claim
    return (
        task.task_id,
        task.number,
        task.name,
        task.details,
        task.status.value,
        task.priority,
        task.due_date,
        task.due_at,
        task.tags,
        task.blockers,
        task.subtask_of,
        task.created_at,
        task.updated_at,
        task.revision,
        task.last_event,
        claim.claimant if claim else None,
        claim.token if claim else None,
        claim.until if claim else None,
        claim.holder if claim else None,
        task.claims,
        task.notes,
        task.done_when,
        task.discovered_from,
        task.source,
        task.sort_key,
    )


def _stored(value: Any) -> Any:
    """Return a value as a column has it: a list, and the parts of a source, as JSON text."""
    if isinstance(value, tuple):
        return json.dumps(value) if value else "[]"
    return value


def task_of(row: Sequence[Any]) -> Task:
    return Task(
        task_id=row[0],
        number=row[1],
        name=row[2],
        details=row[3],
        status=Status(row[4]),
        priority=row[5],
        due_date=row[6],
        due_at=row[7],
        tags=() if row[8] == "[]" else tuple(json.loads(row[8])),
        blockers=() if row[9] == "[]" else tuple(json.loads(row[9])),
        subtask_of=row[10],
        created_at=row[11],
        updated_at=row[12],
        revision=row[13],
        last_event=row[14],
        claim=Claim(*row[15:19]) if row[15] is not None else None,
        claims=row[19],
        notes=() if row[20] == "[]" else tuple(Note(*note) for note in json.loads(row[20])),
        done_when=() if row[21] == "[]" else tuple(json.loads(row[21])),
        discovered_from=row[22],
        source=Source(*json.loads(row[23])) if row[23] else None,
    )


def event_row(event: Event) -> tuple[Any, ...]:
    return (
        event.event_id,
        event.batch,
        event.item,
        event.at,
        event.caller,
        event.action,
        event.task_id,
        event.name,
        event.revision,
        _compact(event.changes),
        event.previous,
        event.undoes,
        event.undone_by,
        event.actor,
        event.undo_key,
    )


def event_of(row: Sequence[Any]) -> Event:
    return Event(
        event_id=row[0],
        batch=row[1],
        item=row[2],
        at=row[3],
        caller=row[4],
        action=row[5],
        task_id=row[6],
        name=row[7],
        revision=row[8],
        changes={key: Change(*pair) for key, pair in json.loads(row[9]).items()},
        previous=row[10],
        undoes=row[11],
        undone_by=row[12],
        actor=row[13],
        undo_key=row[14],
    )


def summary_of(row: Sequence[Any], wanted: Wanted) -> Summary:
    """Read the columns of `SUMMARY`, and the details where they follow."""
    is_held = row[7] is not None and wanted.now < row[7] <= wanted.latest_lease
    return Summary(
        task_id=row[0],
        name=row[1],
        status=Status(row[2]),
        priority=row[3],
        due_date=row[4],
        sort_key=row[5],
        details=row[8] if len(row) > 8 else None,
        claimed_by=row[6] if is_held else None,
    )
