"""CSV: a row for each task. Columns are found by their names, as many tools call them."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from ...errors import InvalidError
from ...model import Status
from .record import Record, kept, single, text, wrong

_COLUMNS = {
    "id": (
        *("task_id", "id", "key", "issue key", "issue id", "task id", "card id", "uuid", "number"),
    ),
    "name": (
        *("name", "title", "summary", "task", "task name", "card name", "subject", "content"),
    ),
    "details": ("details", "description", "card description", "body", "notes", "content"),
    "status": ("status", "state", "done", "completed", "list name", "completed at"),
    "priority": ("priority",),
    "due_date": ("due_date", "due date", "due", "deadline"),
    "tags": ("tags", "labels", "label"),
    "blockers": (
        *("blockers", "blocked by", "blocked_by", "depends on", "dependencies"),
        *("inward issue link (blocks)", "blocked by (dependencies)"),
    ),
    "parent": (
        *("subtask_of", "parent key", "parent issue", "parent task", "parent", "parent id"),
        "parent_id",
    ),
    "discovered_from": ("discovered_from",),
    "done_when": ("done_when",),
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
_CANCELLED = (
    *("cancelled", "canceled", "wontfix", "won't fix", "won't do", "rejected", "abandoned"),
    "duplicate",
)
# As Jira writes them in its usual settings, Linear, and tables of Europe.
_TIMES = (
    *("%d/%b/%y %I:%M %p", "%d/%b/%y", "%Y-%m-%d %H:%M:%S.%f"),
    "%a %b %d %Y %H:%M:%S GMT%z",
    *("%d.%m.%Y", "%d.%m.%Y %H:%M"),
)
_SAID = re.compile(r"sep=(.)[^\n]*\n", re.IGNORECASE)
"""How Excel is told the delimiter, in a line before the table."""
_ZONE_NAME = re.compile(r"\s+\([^)]*\)$")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/\d{4}\b")
_MEMBER = re.compile(r'\s*(?:("(?:[^"]|"")*")\s*(?=[,;|]|$)|([^,;|]+))(?:[,;|]|$)')
_DATES = ("due_date", "created_at", "updated_at")
_MONTHS = 12


class Table:
    name = "csv"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        content = content.removeprefix("\ufeff")
        delimiter = max(",;\t", key=content.partition("\n")[0].count)
        if said := _SAID.match(content):
            content, delimiter = content[said.end() :], said[1]
        head, *lines = _lines(path, content, delimiter) or [[]]
        names = {name.strip().lower(): name for name in reversed(head) if name}
        columns: dict[str, str] = {}
        for field, ways in _COLUMNS.items():
            free = (way for way in ways if way in names and names[way] not in columns.values())
            if known := next(free, None):
                columns[field] = names[known]
        if "name" not in columns:
            raise wrong(path, "has no column for a task's name")
        for line, cells in enumerate(lines, 1):
            if any(cells[len(head) :]):
                told = "a cell that holds a delimiter or a quote stands in quotes"
                raise wrong(path, f"has more cells than columns in row {line}: {told}")
        rows = [(line, _row_of(head, cells)) for line, cells in enumerate(lines, 1) if any(cells)]
        dates = _dates([row for _, row in rows], columns)
        records = [_record(row, columns, line, dates) for line, row in rows]
        further = [names[way] for way in _COLUMNS["id"][1:] if way in names]
        others = {
            row[name]: record.id
            for name in further
            for (_, row), record in zip(rows, records, strict=True)
            if row.get(name)
        }
        return _by_ids(records, others)

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


def _lines(path: str, content: str, delimiter: str) -> list[list[str]]:
    """Return the rows of a table, the first with the columns' names. Quotes may stand within a
    cell, as some tools write them, but a file that ends in quotes was cut short."""
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    try:
        return [*csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise wrong(path, "ends within a cell in quotes: it was cut short") from error
    try:
        return [*csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)]
    except csv.Error as error:
        raise wrong(path, f"is not CSV: {error}") from error


def _by_ids(records: Sequence[Record], others: Mapping[str, str]) -> list[Record]:
    """Let relations that name a task by its name, as Asana's do, or by another id that it has, as
    Jira's do, name it by its id."""
    ids = {record.id for record in records}
    names = Counter(record.name for record in records)
    by_name = {one.name: one.id for one in records if names[one.name] == 1 and one.name not in ids}
    by_name |= {said: known for said, known in others.items() if said not in ids}
    return [
        replace(
            record,
            blockers=tuple(by_name.get(one, one) for one in record.blockers),
            parent=by_name.get(record.parent or "", record.parent),
        )
        for record in records
    ]


def _row_of(head: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Return the cells by their columns; of columns with one name, as Jira has for several labels
    and links, what stands in any."""
    found: dict[str, list[str]] = {}
    for name, cell in zip(head, cells, strict=False):
        found.setdefault(name, []).append(cell)
    return {
        name: several[0] if len(several) == 1 else ", ".join(filter(None, several))
        for name, several in found.items()
    }


def _record(
    row: Mapping[str, str], columns: Mapping[str, str], line: int, dates: Sequence[str]
) -> Record:
    said = {field: (row.get(name) or "").strip() for field, name in columns.items()}
    if not said["name"]:
        raise InvalidError(f"Row {line} has no name.", reason="bad_file")
    priority = said.get("priority", "").lower()
    return Record(
        id=said.get("id") or f"{said['name']}",
        name=said["name"],
        details=(row.get(columns.get("details", "")) or "").strip("\n"),
        status=_status(said.get("status", ""), columns.get("status", "")),
        priority=_level(priority),
        due_date=_day(said.get("due_date", ""), dates),
        tags=_several(said.get("tags", "")),
        blockers=_several(said.get("blockers", "")),
        parent=said.get("parent") or None,
        discovered_from=said.get("discovered_from") or None,
        done_when=_several(said.get("done_when", "")),
        created_at=_time(said.get("created_at", ""), dates),
        updated_at=_time(said.get("updated_at", ""), dates),
        rest={k: v for k, v in row.items() if k and k not in columns.values()}
        | {"_said": _own_words(said)},
        fields=frozenset(_FIELDS.get(field, field) for field in columns),
    )


def _level(said: str) -> int | None:
    return int(said) if said in ("1", "2", "3", "4", "5") else _LEVELS.get(said)


def _several(said: str) -> tuple[str, ...]:
    found = (
        quoted[1:-1].replace('""', '"') if quoted else plain.strip()
        for quoted, plain in _MEMBER.findall(said)
    )
    return tuple(one for one in found if one)


def _joined(members: Sequence[str]) -> str:
    """Return a cell of several texts; those that hold what parts them stand in quotes."""
    return ", ".join(
        '"' + one.replace('"', '""') + '"' if re.search(r'[,;|"]', one) else one for one in members
    )


def _dates(rows: Sequence[Mapping[str, str]], columns: Mapping[str, str]) -> list[str]:
    """Return the forms of a table's dates with slashes: day or month comes first, by the dates that
    can be read in one way only; where there is none, such dates are not understood."""
    names = [columns[field] for field in _DATES if field in columns]
    found = [
        (int(one[1]), int(one[2]))
        for row in rows
        for name in names
        if (one := _SLASHED.match((row.get(name) or "").strip()))
    ]
    is_day_first = any(first > _MONTHS for first, _ in found)
    is_month_first = any(second > _MONTHS for _, second in found)
    if is_day_first is is_month_first:
        return []
    start = "%d/%m/%Y" if is_day_first else "%m/%d/%Y"
    return [start, f"{start} %H:%M", f"{start} %H:%M:%S", f"{start} %I:%M %p"]


def _time(said: str, dates: Sequence[str]) -> str | None:
    """Return a time as ISO 8601 writes it, where it is one that other tools write; others as they
    are."""
    said = _ZONE_NAME.sub("", said)
    for form in (*_TIMES, *dates):
        with suppress(ValueError):
            return datetime.strptime(said, form).isoformat()
    return said or None


def _day(said: str, dates: Sequence[str]) -> str | None:
    """Return a due date; at midnight it is the whole day."""
    found = _time(said, dates)
    return found.removesuffix("T00:00:00") if found else None


def _status(said: str, column: str) -> Status:
    if column.strip().lower() == "completed at":
        return Status.COMPLETED if said else Status.PENDING
    if said.lower() in _DONE:
        return Status.COMPLETED
    return Status.CANCELLED if said.lower() in _CANCELLED else Status.PENDING


def _own_words(said: Mapping[str, str]) -> dict[str, str]:
    """Return the words for state and priority that ours would not be."""
    plain = (*Status, "", *"12345")
    return {name: said[name] for name in ("status", "priority") if said.get(name, "") not in plain}


def _pure_status(said: str) -> Status:
    return _status(said, "status")


def _row(record: Record) -> dict[str, object]:
    said = record.rest.get("_said", {})
    is_level = (_level(text(said.get("priority")).lower()) or 3) == record.priority
    return {
        "task_id": record.id,
        "name": record.name,
        "details": record.details,
        "status": kept(record.status, said.get("status"), _pure_status, lambda one: one.value),
        "priority": said["priority"] if is_level and "priority" in said else record.priority or "",
        "due_date": record.due_date or "",
        "tags": _joined(record.tags),
        "blockers": _joined(record.blockers),
        "subtask_of": record.parent or "",
        "discovered_from": record.discovered_from or "",
        "done_when": _joined(record.done_when),
        "created_at": record.created_at or "",
        "updated_at": record.updated_at or "",
    }
