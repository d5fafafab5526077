"""task-master: `.taskmaster/tasks/tasks.json`, a list of tasks under each tag.

Ids are numbers that count within a tag, and a subtask's count within its task; in dependencies
`3.2` is the second subtask of the third task. Older files are one list, without tags.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...model import Note, Status
from .record import (
    HIGH,
    LOW,
    MEDIUM,
    Record,
    as_said,
    exact,
    fields_of,
    json_of,
    kept,
    level_of,
    single,
    text,
    texts,
    wrong,
)

_SECTIONS = {
    "Details": "details",
    "Test strategy": "testStrategy",
    "Acceptance criteria": "acceptanceCriteria",
}
_TOLD = ("id", "title", "description", "subtasks", *_SECTIONS.values())
_LEVELS = {"low": 2, "medium": 3, "high": 4, "critical": 5}
_SPANS = {"low": LOW, "medium": MEDIUM, "high": HIGH}
_WORDS = {1: "low", 2: "low", 3: "medium", 4: "high", 5: "high"}
# Notes of ours among the details; task-master's own additions have no microseconds.
_NOTE = re.compile(
    r"\n?<info added on (?P<at>\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z)>\n(?P<text>.*?)\n"
    r"</info added on (?P=at)>",
    re.DOTALL,
)
_OWN, _PARENT = "tasky_id", "tasky_parent"
# What has no place there is in a task's metadata, which task-master keeps for others.
_EXTRAS = ("due_date", "discovered_from", "done_when", "tags", "created_at", "priority")
_EXTRA = "tasky_"
_MAIN = "master"
_SIBLINGS = 100
_FIELDS = frozenset({"name", "details", "status", "priority", "blockers", "subtask_of"})


class TaskMaster:
    name = "task-master"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        data = json_of(content, path)
        lists = {_MAIN: data} if isinstance(data, list) else _lists(data)
        if not lists:
            raise wrong(path, "holds no list of tasks")
        found: list[Record] = []
        for tag, tasks in lists.items():
            about = data[tag].get("metadata") if isinstance(data, dict) and tag in data else None
            for number, task in enumerate(tasks):
                if not isinstance(task, dict) or "id" not in task or not task.get("title"):
                    raise wrong(path, f"has a task without id or title under {tag!r}")
                records = _with_parts(task, tag, f"{tag}/{task['id']}", None)
                if about and number == 0:
                    records[0] = replace(records[0], rest={**records[0].rest, "_tag": about})
                found += records
        if found:
            found[0] = replace(found[0], rest={**found[0].rest, **_around(data)})
        return found

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        tags: dict[str, Any] = {}
        parts: dict[str, list[Record]] = {}
        tops = []
        known = {record.id: record for record in records}
        for record in records:
            # Parts that were made here have no parts of their own there: what is deeper becomes a
            # task.
            parent = known.get(record.parent or "")
            is_part = (
                parent is not None
                and "." in record.id
                and ("." not in parent.id or record.id.startswith(f"{parent.id}."))
            )
            if is_part and record.parent:
                parts.setdefault(record.parent, []).append(record)
            else:
                tops.append(record)
        for record in tops:
            tag, _, number = record.id.partition(" (")[0].rpartition("/")
            data = _task_with_parts(record, tag, number, parts)
            place = tags.setdefault(tag, {"tasks": [], "metadata": {"description": f"{tag} tasks"}})
            place["tasks"].append(data)
            place["metadata"] = record.rest.get("_tag", place["metadata"])
        whole: Any = tags
        for record in records:
            whole = {**record.rest.get("_bare", {}), **whole}
        top = next((record.rest["_top"] for record in records if "_top" in record.rest), None)
        if top is not None and whole.keys() == {_MAIN}:
            tasks = tags[_MAIN]["tasks"]
            whole = tasks if top == [] else {**top, "tasks": tasks}
        return {"": json.dumps(whole, ensure_ascii=False, indent=2) + "\n"}

    def new_id(self, number: int, task_id: str) -> str:
        return f"{_MAIN}/{number}"


def _lists(data: Any) -> dict[str, list[Any]]:
    if not isinstance(data, dict):
        return {}
    if isinstance(data.get("tasks"), list):
        return {_MAIN: data["tasks"]}
    return {
        tag: one["tasks"]
        for tag, one in data.items()
        if isinstance(one, dict) and isinstance(one.get("tasks"), list)
    }


def _around(data: Any) -> dict[str, Any]:
    """Return what a file says beside its tasks: of a list without tags all, else tags that have no
    task."""
    if isinstance(data, list):
        return {"_top": []}
    if isinstance(data.get("tasks"), list):
        return {"_top": {name: None if name == "tasks" else one for name, one in data.items()}}
    bare = {
        tag: one for tag, one in data.items() if not (isinstance(one, dict) and one.get("tasks"))
    }
    return {"_bare": bare} if bare else {}


def _with_parts(data: Any, tag: str, whole: str, parent: str | None) -> list[Record]:
    found = [_record(data, tag, whole, parent)]
    for part in data.get("subtasks") or ():
        found += _with_parts(part, tag, f"{whole}.{part['id']}", whole)
    return found


def _status(word: object) -> Status:
    if word in ("done", "completed"):
        return Status.COMPLETED
    return Status.CANCELLED if word == "cancelled" else Status.PENDING


def _record(data: dict[str, Any], tag: str, whole: str, parent: str | None) -> Record:
    data, notes = _without_notes(data)
    listed = {name: data[name] for name in _SECTIONS.values() if isinstance(data.get(name), list)}
    plain = data | {name: _text(value) for name, value in listed.items()}
    details, ambiguous = as_said(plain, "description", _SECTIONS)
    metadata = data.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    own, above = said.get(_OWN), said.get(_PARENT)
    extras = {name: texts(said.get(f"{_EXTRA}{name}")) for name in _EXTRAS} if own else {}
    extras = {name: value for name, value in extras.items() if value}
    priority, is_exact = level_of(
        {name: [*value] for name, value in extras.items()},
        text(data.get("priority")),
        _WORDS,
        _LEVELS,
    )
    own_tags = extras.get("tags", ())
    return Record(
        id=whole,
        name=str(data.get("title") or f"Subtask {whole}"),
        details=details,
        status=_status(data.get("status")),
        priority=priority,
        due_date=next(iter(extras.get("due_date", ())), None),
        tags=(*(() if tag == _MAIN else (tag,)), *texts(data.get("tags")), *own_tags),
        blockers=_waits(data.get("dependencies"), tag, parent),
        parent=parent or (above if isinstance(above, str) else None),
        discovered_from=next(iter(extras.get("discovered_from", ())), None),
        done_when=extras.get("done_when", ()),
        notes=notes,
        created_at=data.get("createdAt") or next(iter(extras.get("created_at", ())), None),
        updated_at=data.get("updatedAt"),
        rest={k: v for k, v in data.items() if k not in _TOLD}
        | ambiguous
        | {"_id": data["id"], "_has_parts": "subtasks" in data}
        | ({"_listed": listed} if listed else {}),
        task_id=own if isinstance(own, str) else None,
        fields=_FIELDS | {*extras},
        priorities=frozenset()
        if is_exact
        else _SPANS.get(text(data.get("priority")).lower(), frozenset()),
    )


def _without_notes(data: dict[str, Any]) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return a task without our notes in its details, and these."""
    said = data.get("details")
    if not isinstance(said, str) or not _NOTE.search(said):
        return data, ()
    notes = tuple(Note(one["at"], "", one["text"]) for one in _NOTE.finditer(said))
    return {**data, "details": _NOTE.sub("", said)}, notes


def _waits(said: object, tag: str, parent: str | None) -> tuple[str, ...]:
    """Return the ids of dependencies: a subtask's small number means its sibling, a text one of any
    task or, with a dot, of a task's subtask."""
    members = said if isinstance(said, list) else texts(said)
    return tuple(
        f"{parent}.{one}"
        if parent is not None and isinstance(one, int) and one < _SIBLINGS
        else f"{tag}/{one}"
        for one in members
    )


def _text(value: object) -> str:
    return "\n".join(f"- {one}" for one in value) if isinstance(value, list) else text(value)


def _task_with_parts(
    record: Record, tag: str, number: str, parts: Mapping[str, Sequence[Record]]
) -> dict[str, Any]:
    data = _task(record, tag, number)
    found = [
        _task_with_parts(part, tag, part.id.partition(" (")[0].rpartition(".")[2], parts)
        for part in parts.get(record.id, ())
    ]
    if found or record.rest.get("_has_parts", "." not in record.id):
        data["subtasks"] = found
    return data


def _task(record: Record, tag: str, number: str) -> dict[str, Any]:
    was = dict(record.rest)
    said = record.rest.get("_id")
    own = int(number) if number.isdecimal() else number
    data: dict[str, Any] = {"id": said if text(said) == number else own, "title": record.name}
    fields = fields_of(record, "description", _SECTIONS)
    if "_empty" not in record.rest:
        data |= {"description": "", "details": "", "testStrategy": ""}
    data |= fields
    for name, value in record.rest.get("_listed", {}).items():
        if _text(value) == fields.get(name):
            data[name] = value
    data |= {name: value for name, value in was.items() if not name.startswith("_")}
    if "status" in was or said is None or record.status is not Status.PENDING:
        data["status"] = kept(record.status, was.get("status"), _status, _word)
    word = text(was.get("priority"))
    level = record.priority if _WORDS[record.priority or 3] == word else _LEVELS.get(word)
    is_unsaid = was.get("priority") is None and (record.parent or said is not None)
    if is_unsaid and record.priority in (None, 3):
        pass
    elif level != record.priority:
        data["priority"] = _WORDS[record.priority or 3]
    waits = {*record.blockers, *record.rest.get("_unknown", ())}
    if {*_waits(was.get("dependencies"), tag, record.parent)} != waits:
        data["dependencies"] = [_shown(one, record, tag) for one in record.blockers]
    if said is None:
        data.setdefault("dependencies", [])
    if record.notes:
        # There is no place for notes: they follow the details, as task-master's own additions do.
        whole = text(data.get("details"))
        added = (
            f"<info added on {note.at}>\n{note.text}\n</info added on {note.at}>"
            for note in record.notes
        )
        data["details"] = "\n".join([whole, *(one for one in added if one not in whole)]).strip()
    about = was.get("metadata")
    if said is None or (isinstance(about, dict) and _OWN in about):
        data["metadata"] = _metadata(record, tag, about if isinstance(about, dict) else {})
    return data


def _metadata(record: Record, tag: str, was: Mapping[str, Any]) -> dict[str, Any]:
    """Return what we say of a task of ours in its metadata, and what others say there."""
    said: dict[str, Any] = {_OWN: record.task_id}
    if record.parent and not record.id.startswith(f"{record.parent}."):
        said[_PARENT] = record.parent  # no part there
    names = {*_EXTRAS} if exact(record, _WORDS) else {*_EXTRAS} - {"priority"}
    for name in _EXTRAS:
        value = getattr(record, name)
        value = [one for one in value if one != tag] if name == "tags" else value
        if value and name in names:
            said[f"{_EXTRA}{name}"] = [*value] if isinstance(value, tuple) else value
    theirs = {name: one for name, one in was.items() if not name.startswith(_EXTRA)}
    return {**theirs, **said}


def _shown(target: str, record: Record, tag: str) -> int | str:
    parent, _, number = target.rpartition(".")
    if parent and parent == record.parent:
        return int(number) if number.isdecimal() else number
    short = target.removeprefix(f"{tag}/")
    return int(short) if short.isdecimal() and record.parent is None else short


def _word(status: Status) -> str:
    return {Status.PENDING: "pending", Status.COMPLETED: "done"}.get(status, "cancelled")
