"""What of a task an event can change and an undo can bring back, and how an event keeps it."""

from typing import Any, cast

from ..errors import Json
from ..model import Change, Event, Note, Source, Status, Task

CONTENT = (
    "name",
    "details",
    "status",
    "priority",
    "due_date",
    "due_at",
    "tags",
    "blockers",
    "subtask_of",
    "discovered_from",
    "done_when",
    "source",
)
"""In the order it is shown."""
IDENTITY = ("number", "created_at", "notes")
"""What stands besides the content in a deleted task's event, so that it can come back whole."""


def difference(before: Task, after: Task) -> dict[str, Change]:
    """Return what of the content differs, before and after."""
    return {
        name: Change(json_of(before, name), json_of(after, name))
        for name in CONTENT
        if getattr(before, name) != getattr(after, name)
    }


def json_of(task: Task, name: str) -> Json:
    """Return a field's value as an event holds it."""
    value: Any = getattr(task, name)
    if name == "notes":
        return [list(note) for note in value]
    if name == "source":
        return list(value) if value else None
    if isinstance(value, Status):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def plain(name: str, value: Json) -> Any:
    """Return a field's value as a task holds it."""
    if name == "status":
        return Status(str(value))
    if name == "notes":
        return tuple(Note(*note) for note in cast(Any, value))
    if name == "source":
        return Source(*cast(Any, value)) if value else None
    return tuple(value) if isinstance(value, list) else value


def restored(event: Event, at: str) -> Task:
    """Return the task that an event has deleted."""
    content = {name: plain(name, change.before) for name, change in event.changes.items()}
    return Task(
        task_id=event.task_id,
        updated_at=at,
        revision=event.revision + 1,
        last_event=event.previous,
        **content,
    )


def notes_made(event: Event) -> int:
    """Return with how many notes an event made a task."""
    made = event.changes.get("notes", Change(None, 0)).after
    return made if isinstance(made, int) else 0
