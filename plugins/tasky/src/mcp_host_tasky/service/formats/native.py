"""Our own JSON: what `tasky export` writes, a list of tasks, or a `tasks.json` of Tasky's."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InvalidError
from ...model import Note, Status
from .record import Record, json_of, single, text, texts, wrong

_KNOWN = [
    "task_id",
    "name",
    "details",
    "status",
    "priority",
    "due_date",
    "tags",
    "blockers",
    "subtask_of",
    "discovered_from",
    "done_when",
    "created_at",
    "updated_at",
    "notes",
    "ref",
]
_SHOWN = [
    "blocked_by",
    "blocks",
    "subtasks",
    "discovered",
    "revision",
    "event_id",
    "claimed_by",
    "claimed_until",
]


class Native:
    name = "tasky"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        data = json_of(content, path)
        found = data.get("tasks") if isinstance(data, dict) else data
        if isinstance(found, dict):
            found = list(found.values())
        if not isinstance(found, list):
            raise InvalidError(
                f"{path} holds no tasks.",
                reason="bad_file",
                suggestions=["Give an array of tasks, what export wrote, or a tasks.json."],
            )
        return [_record(one, index, path) for index, one in enumerate(found)]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        tasks = [_task(record) for record in records]
        return {"": json.dumps({"tasks": tasks}, ensure_ascii=False, indent=2) + "\n"}

    def new_id(self, number: int, task_id: str) -> str:
        return task_id


def _record(data: Any, index: int, path: str) -> Record:
    if not isinstance(data, dict):
        raise wrong(path, f"has as its task {index} something else than an object")
    given = {name: value for name, value in data.items() if value is not None}
    for name in given:
        if name not in (*_KNOWN, *_SHOWN, "source") and not name.endswith("_total"):
            raise InvalidError(
                f"task {index}: {name!r} is not part of a task.",
                reason="unknown_field",
                suggestions=[f"It takes: {', '.join(_KNOWN)}."],
            )
    priority = given.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise wrong(path, f"has as its task {index} one whose priority is {priority!r}")
    try:
        status = Status(text(given.get("status", "pending")))
    except ValueError:
        raise wrong(path, f"has as its task {index} one with status {given['status']!r}") from None
    task_id = given.get("task_id")
    return Record(
        id=text(task_id or given.get("ref") or f"#{index}"),
        name=text(given.get("name")),
        details=text(given.get("details")),
        status=status,
        priority=priority,
        due_date=given.get("due_date"),
        tags=texts(given.get("tags")),
        blockers=texts(given.get("blockers")),
        parent=given.get("subtask_of"),
        discovered_from=given.get("discovered_from"),
        done_when=texts(given.get("done_when")),
        notes=tuple(
            Note(text(one.get("at")), text(one.get("by")), text(one.get("text")))
            for one in given.get("notes", ())
        ),
        created_at=given.get("created_at"),
        updated_at=given.get("updated_at"),
        rest=given.get("source") or {},
        task_id=text(task_id) if task_id else None,
    )


def _task(record: Record) -> dict[str, Any]:
    task: dict[str, Any] = {
        "task_id": record.task_id,
        "name": record.name,
        "status": record.status.value,
        "priority": record.priority,
        "due_date": record.due_date,
        "details": record.details or "N/A",
        "tags": list(record.tags),
        "blockers": list(record.blockers),
        "subtask_of": record.parent,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }
    rare: dict[str, Any] = {
        "discovered_from": record.discovered_from,
        "done_when": list(record.done_when),
        "notes": [{"at": one.at, "by": one.author, "text": one.text} for one in record.notes],
        "source": dict(record.rest),
    }
    return task | {name: value for name, value in rare.items() if value}
