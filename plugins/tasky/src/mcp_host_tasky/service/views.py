"""Tasks as clients see them: plain data, small where there may be much of it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

from ..errors import Json
from ..model import Event, Members, Status, Summary, Task, snippet, written

View: TypeAlias = dict[str, Json]

SHOWN_RELATIONS = 100
WHOLE_RELATIONS = 10_000
"""Members of a relation where a task is shown whole."""
_SHOWN = 200
_MEMBERS = 30
FIELDS = (
    "task_id",
    "name",
    "status",
    "priority",
    "due_date",
    "details",
    "tags",
    "blockers",
    "blocked_by",
    "blocks",
    "subtasks",
    "subtask_of",
    "created_at",
    "updated_at",
    "revision",
    "event_id",
    "notes",
    "done_when",
    "discovered_from",
    "discovered",
    "source",
    "claimed_by",
    "claimed_until",
)
ON_REQUEST = ("history",)


class Relations(Protocol):
    """Who can say how tasks relate: a reading, or a draft of what is not kept yet."""

    def first_waiting(self, ids: Collection[str], most: int) -> dict[str, Members]: ...

    def first_subtasks(self, ids: Collection[str], most: int) -> dict[str, Members]: ...

    def open_among(self, ids: Collection[str]) -> set[str]: ...

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]: ...


class Tasks(Protocol):
    """Who has tasks: a reading."""

    def tasks(self, ids: Collection[str]) -> dict[str, Task]: ...


def full_views(
    relations: Relations, tasks: Sequence[Task], now: datetime, most: int = SHOWN_RELATIONS
) -> list[View]:
    """Return tasks with all fields and relations, in the order given.

    A relation with more than `most` members is cut, and its full size is told.
    """
    if not tasks:
        return []
    ids = [task.task_id for task in tasks]
    blocks = relations.first_waiting(ids, most)
    parts = relations.first_subtasks(ids, most)
    discovered = relations.discovered(ids)
    open_blockers = relations.open_among({one for task in tasks for one in task.blockers})
    views = []
    for task in tasks:
        left = [one for one in task.blockers if one in open_blockers]
        related = {
            "blockers": Members.of(task.blockers, most),
            "blocked_by": Members.of(left, most),
            "blocks": blocks.get(task.task_id, Members()),
            "subtasks": parts.get(task.task_id, Members()),
        }
        if task.task_id in discovered:
            related["discovered"] = Members.of(discovered[task.task_id], most)
        views.append(_full(task, related, now))
    return views


def _full(task: Task, related: Mapping[str, Members], now: datetime) -> View:
    view: View = {
        "task_id": task.task_id,
        "name": task.name,
        "status": task.status.value,
        "priority": task.priority,
        "due_date": task.due_date,
        "details": task.details,
        "tags": list(task.tags),
    }
    for name, members in related.items():
        view[name] = list(members.first)
        if members.total > len(members.first):
            view[f"{name}_total"] = members.total
    view |= {
        "subtask_of": task.subtask_of,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "revision": task.shown_revision,
    }
    if task.last_event >= 0:  # else its last change came by git or an editor, and has no event
        view["event_id"] = task.last_event
    if task.done_when:
        view["done_when"] = list(task.done_when)
    if task.discovered_from:
        view["discovered_from"] = task.discovered_from
    if task.source:
        view["source"] = {"format": task.source.format, "id": task.source.id}
    if task.notes:
        view["notes"] = [{"at": one.at, "by": one.author, "text": one.text} for one in task.notes]
    if claim := task.live_claim(now):
        view |= {"claimed_by": claim.claimant, "claimed_until": claim.until}
    return view


def with_sources(reading: Tasks, views: Iterable[View]) -> list[View]:
    """Add what the tools that tasks came from say of them beyond our fields."""
    shown = []
    for view in views:
        (task,) = reading.tasks([str(view["task_id"])]).values()
        if task.source:
            kept = json.loads(task.source.rest).get("kept", {})
            source = {"format": task.source.format, "id": task.source.id, "kept": kept}
            view = {**view, "source": source}
        shown.append(view)
    return shown


def relation_names() -> tuple[str, ...]:
    return ("blockers", "blocked_by", "blocks", "subtasks", "discovered")


def compact_view(task: Task, short_id: str, event: Event | None) -> View:
    """A row of a write's answer: the task in short, and the fields that the operation changed."""
    view: View = {
        "task_id": short_id,
        "name": task.name,
        "status": task.status.value,
        "revision": task.shown_revision,
    }
    if event and event.action == "create":
        return view | ({"due_date": task.due_date} if task.due_date else {})
    for name, change in event.changes.items() if event else ():
        if name not in ("due_at", "note", "number", "created_at", "source"):
            view.setdefault(name, _short(change.after))
            if isinstance(change.after, list) and len(change.after) > _MEMBERS:
                view[f"{name}_total"] = len(change.after)
    return view


def _short(value: Json) -> Json:
    if isinstance(value, list):
        return value[:_MEMBERS]
    return shortened(value) if isinstance(value, str) else value


def shortened(text: str) -> str:
    """Return a text as it is shown among others, with its length where it is cut."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… [{len(text):,} characters]"


def brief_view(task: Task) -> View:
    """A changed task where a call changed very many."""
    return {
        "task_id": task.task_id,
        "name": task.name,
        "status": task.status.value,
        "priority": task.priority,
        "due_date": task.due_date,
        "revision": task.shown_revision,
    }


def deleted_view(task_id: str) -> View:
    return {"task_id": task_id, "status": "deleted"}


def row_view(row: Summary, words: tuple[str, ...], short_id: str | None = None) -> View:
    """A row of a list; with words, also where they were found."""
    view: View = {
        "task_id": short_id or row.task_id,
        "name": row.name,
        "status": row.status.value,
        "due_date": row.due_date,
        "priority": row.priority,
    }
    if row.claimed_by:
        view["claimed_by"] = row.claimed_by
    if words:
        found = snippet(written(row.details), words) or snippet(row.name, words)
        if found:
            view["snippet"] = found
    return view


def event_view(event: Event) -> View:
    view: View = {
        "event_id": event.event_id,
        "at": event.at,
        "caller": event.caller,
        "action": event.action,
        "task_id": event.task_id,
        "name": event.name,
        "revision": event.revision,
        "changes": {
            name: [change.before, change.after]
            for name, change in event.changes.items()
            if event.action != "delete" or change.before not in (None, [])
        },
    }
    if event.undoes:
        view["undoes"] = event.undoes
    if event.undone_by:
        view["undone_by"] = event.undone_by
    return view


def only_fields(views: Iterable[View], fields: Sequence[str]) -> list[View]:
    """Keep the named fields, and the id and marks that the reader needs to tell tasks apart."""
    kept = {"task_id", "distance", *fields, *(f"{name}_total" for name in fields)}
    return [{name: value for name, value in view.items() if name in kept} for view in views]


def status_counts(counts: dict[Status, int]) -> View:
    return {status.value: counts[status] for status in Status}
