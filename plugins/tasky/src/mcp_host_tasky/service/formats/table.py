"""CSV: a row for each task. Columns are found by their names, as many tools call them."""

import csv
import io
import re
from collections.abc import Mapping, Sequence

from ...errors import InvalidError
from ...model import Status
from .record import Record, single, texts, wrong

_COLUMNS = {
    "id": ("task_id", "id", "key", "issue key", "issue id", "uuid", "number"),
    "name": ("name", "title", "summary", "task", "task name", "subject"),
    "details": ("details", "description", "body", "notes", "content"),
    "status": ("status", "state", "done", "completed"),
    "priority": ("priority",),
    "due_date": ("due_date", "due date", "due", "deadline"),
    "tags": ("tags", "labels", "label"),
    "blockers": ("blockers", "blocked by", "blocked_by", "depends on", "dependencies"),
    "parent": ("subtask_of", "parent", "parent id", "parent_id", "parent key"),
    "discovered_from": ("discovered_from",),
    "created_at": ("created_at", "created", "created at", "created date"),
    "updated_at": ("updated_at", "updated", "updated at", "last modified"),
}
_FIELDS = {"parent": "subtask_of"}
_LEVELS = {
    "lowest": 1,
    "trivial": 1,
    "low": 2,
    "minor": 2,
    "medium": 3,
    "normal": 3,
    "high": 4,
    "major": 4,
    "highest": 5,
    "critical": 5,
    "urgent": 5,
    "blocker": 5,
}
_DONE = ("completed", "done", "closed", "complete", "resolved", "true", "yes", "x", "1")
_CANCELLED = ("cancelled", "canceled", "wontfix", "won't do", "rejected", "abandoned")


class Table:
    name = "csv"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        content = content.removeprefix("\ufeff")
        head = content.partition("\n")[0]
        delimiter = max(",;\t", key=head.count)
        reader = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter)
        names = {name.strip().lower(): name for name in reader.fieldnames or () if name}
        columns = {
            field: names[known]
            for field, ways in _COLUMNS.items()
            if (known := next((way for way in ways if way in names), None))
        }
        if "name" not in columns:
            raise wrong(path, "has no column for a task's name")
        try:
            rows = list(reader)
        except csv.Error as error:
            raise wrong(path, f"is not CSV: {error}") from error
        return [
            _record(row, columns, line) for line, row in enumerate(rows, 1) if any(row.values())
        ]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        rest: dict[str, None] = {}
        for record in records:
            rest |= dict.fromkeys(name for name in record.rest if not name.startswith("_"))
        fields = [ways[0] for ways in _COLUMNS.values()]
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, [*fields, *(one for one in rest if one not in fields)])
        writer.writeheader()
        for record in records:
            kept = {k: v for k, v in record.rest.items() if not k.startswith("_")}
            writer.writerow({**kept, **_row(record)})
        return {"": out.getvalue()}

    def new_id(self, number: int, task_id: str) -> str:
        return task_id


def _record(row: Mapping[str, str], columns: Mapping[str, str], line: int) -> Record:
    said = {field: (row.get(name) or "").strip() for field, name in columns.items()}
    if not said["name"]:
        raise InvalidError(f"Row {line} has no name.", reason="bad_file")
    priority = said.get("priority", "").lower()
    is_number = priority in ("1", "2", "3", "4", "5")
    return Record(
        id=said.get("id") or f"{said['name']}",
        name=said["name"],
        details=(row.get(columns.get("details", "")) or "").strip("\n"),
        status=_status(said.get("status", "")),
        priority=int(priority) if is_number else _LEVELS.get(priority),
        due_date=said.get("due_date") or None,
        tags=_several(said.get("tags", "")),
        blockers=_several(said.get("blockers", "")),
        parent=said.get("parent") or None,
        discovered_from=said.get("discovered_from") or None,
        created_at=said.get("created_at") or None,
        updated_at=said.get("updated_at") or None,
        rest={k: v for k, v in row.items() if k and k not in columns.values()},
        fields=frozenset(_FIELDS.get(field, field) for field in columns),
    )


def _several(said: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in re.split(r"[,;|]", said) if one.strip())


def _status(said: str) -> Status:
    if said.lower() in _DONE:
        return Status.COMPLETED
    return Status.CANCELLED if said.lower() in _CANCELLED else Status.PENDING


def _row(record: Record) -> dict[str, object]:
    return {
        "task_id": record.id,
        "name": record.name,
        "details": record.details,
        "status": record.status.value,
        "priority": record.priority or "",
        "due_date": record.due_date or "",
        "tags": ", ".join(record.tags),
        "blockers": ", ".join(texts(record.blockers)),
        "subtask_of": record.parent or "",
        "discovered_from": record.discovered_from or "",
        "created_at": record.created_at or "",
        "updated_at": record.updated_at or "",
    }
