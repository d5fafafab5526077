"""Tasks, events and summaries as rows of the tables, and back."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ...errors import UnavailableError
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
    """Return a row of `TASK` as a task; `UnavailableError` where it is damaged."""
    try:
        return _task(row)
    except _UNREADABLE as error:
        raise _damaged(f"task {row[0]}", error) from error


def _task(row: Sequence[Any]) -> Task:
    return Task(
        task_id=row[0],
        number=row[1],
        name=row[2],
        details=row[3],
        status=Status(row[4]),
        priority=int(row[5]),
        due_date=row[6],
        due_at=row[7],
        tags=_texts(row[8]),
        blockers=_texts(row[9]),
        subtask_of=row[10],
        created_at=row[11],
        updated_at=row[12],
        revision=int(row[13]),
        last_event=int(row[14]),
        claim=Claim(*row[15:19]) if row[15] is not None else None,
        claims=int(row[19]),
        notes=_notes(row[20]),
        done_when=_texts(row[21]),
        discovered_from=row[22],
        source=_source(row[23]),
    )


def _texts(cell: str) -> tuple[str, ...]:
    return () if cell == "[]" else tuple(json.loads(cell))


def _notes(cell: str) -> tuple[Note, ...]:
    return () if cell == "[]" else tuple(Note(*note) for note in json.loads(cell))


def _source(cell: str | None) -> Source | None:
    return Source(*json.loads(cell)) if cell else None


def _changes(cell: str) -> dict[str, Change]:
    return {key: Change(*pair) for key, pair in json.loads(cell).items()}


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
    """Return a row of `EVENT` as an event; `UnavailableError` where it is damaged."""
    try:
        return _event(row)
    except _UNREADABLE as error:
        raise _damaged(f"event {row[0]}", error) from error


def _event(row: Sequence[Any]) -> Event:
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
        changes=_changes(row[9]),
        previous=row[10],
        undoes=row[11],
        undone_by=row[12],
        actor=row[13],
        undo_key=row[14],
    )


def unreadable(columns: Sequence[str], row: Sequence[Any]) -> list[str]:
    """Return those columns of a row that cannot be read, or are no UTF-8 text: what stands for
    such bytes are surrogates."""
    found = []
    for name, cell in zip(columns, row, strict=False):
        try:
            if isinstance(cell, str):
                cell.encode()
            if name in _PARTS:
                _PARTS[name][0](cell)
        except _UNREADABLE:
            found.append(name)
    return found


def mended(columns: Sequence[str], row: Sequence[Any]) -> list[Any]:
    """Return a row of these columns with what cannot be read replaced."""
    broken = unreadable(columns, row)
    return [
        _PARTS[name][1] if name in broken and name in _PARTS else cell
        for name, cell in zip(columns, row, strict=False)
    ]


def _number(cell: Any) -> None:
    if not isinstance(cell, int):
        raise TypeError(f"{cell!r} is no number")


def _time(cell: str | None) -> None:
    if cell is not None:
        datetime.fromisoformat(cell)


_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_LONG_AGO = "1970-01-01T00:00:00.000000Z"
_PARTS: dict[str, tuple[Callable[[Any], object], str | int | None]] = {
    "number": (_number, None),
    "event_id": (_number, None),
    "status": (Status, Status.PENDING.value),
    "priority": (_number, 3),
    "revision": (_number, 1),
    "last_event": (_number, 0),
    "claims": (_number, 0),
    "due_date": (_time, None),
    "due_at": (_time, None),
    "created_at": (_time, _LONG_AGO),
    "updated_at": (_time, _LONG_AGO),
    "claimed_until": (_time, None),
    "at": (_time, _LONG_AGO),
    "tags": (_texts, "[]"),
    "blockers": (_texts, "[]"),
    "notes": (_notes, "[]"),
    "done_when": (_texts, "[]"),
    "source": (_source, None),
    "changes": (_changes, "{}"),
}
"""How the columns that hold more than a text are read, and what stands for what cannot be."""


def _damaged(what: str, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"The {what} is damaged in the plan's database: {error}.",
        reason="corrupt_store",
        suggestions=[
            "See all that is damaged with: tasky check",
            "Copy what can be read to a sound file: tasky backup FILE",
        ],
    )


def summary_of(row: Sequence[Any], wanted: Wanted) -> Summary:
    """Read the columns of `SUMMARY`, and the details where they follow."""
    try:
        status = Status(row[2])
    except ValueError as error:
        raise _damaged(f"task {row[0]}", error) from error
    is_held = row[7] is not None and wanted.now < row[7] <= wanted.latest_lease
    return Summary(
        task_id=row[0],
        name=row[1],
        status=status,
        priority=row[3],
        due_date=row[4],
        sort_key=row[5],
        details=row[8] if len(row) > 8 else None,
        claimed_by=row[6] if is_held else None,
    )
