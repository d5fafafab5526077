"""beads: an issue on each line of `.beads/issues.jsonl`, as `bd export` writes it.

Priorities are 0 (the highest) to 4. A dependency stands at the issue that waits, as
`{"issue_id", "depends_on_id", "type"}`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...model import Note, Status
from .record import (
    Record,
    as_said,
    comments_of,
    fields_of,
    has_labels,
    json_of,
    kept,
    reference,
    referred,
    single,
    text,
    texts,
    wrong,
)

_BLOCKS = ("blocks", "conditional-blocks", "waits-for", "blocked-by")
_SECTIONS = {"Design": "design", "Acceptance criteria": "acceptance_criteria", "Notes": "notes"}
_CANCELLED = "cancelled"
_DAY_ENDS = "T23:59:59Z"  # beads knows no whole days
_FIELDS = frozenset(
    {"name", "details", "status", "priority", "due_date", "tags", "blockers", "subtask_of"}
) | {"discovered_from"}
# What other fields of ours say already.
_TOLD = ("id", "title", "description", "comments", *_SECTIONS.values())


class Beads:
    name = "beads"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        found = []
        for number, line in enumerate(content.split("\n"), 1):
            if not line.strip():
                continue
            data = json_of(line, f"{path}, line {number},")
            if not isinstance(data, dict):
                raise wrong(f"{path}, line {number},", "is not an object")
            if data.get("_type", "issue") == "issue":
                if not data.get("id") or not data.get("title"):
                    raise wrong(f"{path}, line {number},", "has no id or no title")
                found.append(_record(data))
        return found

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        return {"": "".join(_line(record) for record in records)}

    def new_id(self, number: int, task_id: str) -> str:
        return f"tasky-{task_id[:8]}"


def _status(word: object) -> Status:
    if word == "closed":
        return Status.COMPLETED
    return Status.CANCELLED if word == "tombstone" else Status.PENDING


def _record(data: dict[str, Any]) -> Record:
    by_type: dict[str, list[str]] = {}
    for one in data.get("dependencies") or ():
        by_type.setdefault(text(one.get("type")), []).append(text(one.get("depends_on_id")))
    parents, origins = by_type.get("parent-child", []), by_type.get("discovered-from", [])
    details, ambiguous = as_said(data, "description", _SECTIONS)
    own, extras = referred(text(data.get("external_ref")))
    due = data.get("due_at")
    if own and text(due).endswith(_DAY_ENDS):
        due = text(due).removesuffix(_DAY_ENDS)
    status = _status(data.get("status"))
    if own and status is Status.COMPLETED and data.get("close_reason") == _CANCELLED:
        status = Status.CANCELLED
    priority = data.get("priority")
    is_level = isinstance(priority, int) and 0 <= priority <= 4
    return Record(
        id=str(data["id"]),
        name=str(data["title"]),
        details=details,
        status=status,
        priority=5 - priority if is_level and isinstance(priority, int) else None,
        due_date=due,
        tags=texts(data.get("labels")),
        blockers=tuple(one for kind in _BLOCKS for one in by_type.get(kind, [])),
        parent=parents[0] if parents else None,
        discovered_from=origins[0] if origins else None,
        notes=tuple(
            Note(text(one.get("created_at")), text(one.get("author")), text(one.get("text")))
            for one in data.get("comments") or ()
        ),
        created_at=data.get("created_at"),
        updated_at=data.get("updated_at"),
        rest={k: v for k, v in data.items() if k not in _TOLD}
        | ambiguous
        | {"_comments": data.get("comments") or []}
        | ({} if data.get("comments", True) else {"_no_comments": data["comments"]}),
        done_when=tuple(extras.get("done_when", ())),
        fields=_FIELDS | {*extras},
        task_id=own,
    )


def _line(record: Record) -> str:
    was = dict(record.rest)
    data: dict[str, Any] = {"id": record.id, "title": record.name}
    data |= fields_of(record, "description", _SECTIONS)
    data |= {name: value for name, value in was.items() if not name.startswith("_")}
    data["status"] = kept(record.status, was.get("status"), _status, _word)
    if "priority" in was or not was or record.priority not in (None, 3):
        data["priority"] = 5 - (record.priority or 3)
    if not was:
        data["issue_type"] = "task"
    data["created_at"], data["updated_at"] = record.created_at, record.updated_at
    if data["status"] == was.get("status"):
        pass  # when and why it was closed is what it was
    elif record.status is Status.PENDING:
        for name in ("closed_at", "close_reason"):
            data.pop(name, None)
    else:
        data.setdefault("closed_at", record.updated_at)
        if record.status is Status.CANCELLED:
            data.setdefault("close_reason", _CANCELLED)
    if record.due_date is None:
        data.pop("due_at", None)
    elif "T" in record.due_date or not text(was.get("due_at")).startswith(record.due_date):
        is_day = "T" not in record.due_date
        data["due_at"] = record.due_date + _DAY_ENDS if is_day else record.due_date
    labels = texts(was.get("labels"))
    if not has_labels(record.tags, labels):
        data["labels"] = list(record.tags)
    if not data.get("labels") and not was:
        data.pop("labels", None)
    data["dependencies"] = _dependencies(record, was.get("dependencies") or [])
    if not data["dependencies"] and was.get("dependencies") is None:
        del data["dependencies"]
    if "_no_comments" in was:
        data["comments"] = was["_no_comments"]
    if record.notes:
        data["comments"] = comments_of(
            record.notes,
            was.get("_comments", ()),
            "text",
            lambda n, note: _comment(record, n, note),
        )
    if not was or referred(text(was.get("external_ref")))[0]:
        data["external_ref"] = reference(record, ("done_when",))
    return json.dumps(data, ensure_ascii=False) + "\n"


def _comment(record: Record, number: int, note: Note) -> dict[str, Any]:
    return {
        "id": number,
        "issue_id": record.id,
        "author": note.author,
        "text": note.text,
        "created_at": note.at,
    }


def _word(status: Status) -> str:
    return "open" if status is Status.PENDING else "closed"


def _dependencies(record: Record, was: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the relations: those that are as they were in their own words, the others in ours.
    A task has one parent and one origin here: what else an issue has of them stays with it."""
    wanted = {(one, "blocks") for one in record.blockers}
    if record.parent:
        wanted.add((record.parent, "parent-child"))
    if record.discovered_from:
        wanted.add((record.discovered_from, "discovered-from"))
    found = []
    single: set[str] = set()
    for one in was:
        kind = "blocks" if one.get("type") in _BLOCKS else text(one.get("type"))
        pair = (text(one.get("depends_on_id")), kind)
        is_ours = kind in ("blocks", "parent-child", "discovered-from")
        is_lost = record.rest.get("_unknown", ()) and pair[0] in record.rest["_unknown"]
        is_further = kind in single
        if kind != "blocks":
            single.add(kind)
        if pair in wanted or not is_ours or is_lost or is_further:
            found.append(one)
            wanted.discard(pair)
    for target, kind in sorted(wanted):
        found.append(
            {
                "issue_id": record.id,
                "depends_on_id": target,
                "type": kind,
                "created_at": record.created_at,
            }
        )
    return found
