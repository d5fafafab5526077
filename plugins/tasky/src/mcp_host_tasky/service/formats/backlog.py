"""Backlog.md: a Markdown file for each task, in `backlog/tasks/` and `backlog/completed/`.

Its front matter is YAML; its body has sections, which stay as they are in a task's details.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ...model import Note, Status
from .record import HIGH, LOW, MEDIUM, Record, has_labels, kept, text, texts, wrong

_FRONT = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---[ \t]*\r?\n?(.*)\Z", re.DOTALL)
# `@` begins no YAML value; Backlog.md takes names that do, without quotes.
_AT = re.compile(r"(?m)^(\s*(?:assignee|reporter):\s*)(@[^\n]*)$")
_LIST_AT = re.compile(r"(?<=[\[,])(\s*)(@[^\s,\]\"']+)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LEVELS = {"low": 2, "medium": 3, "high": 4, "critical": 5}
_SPANS = {"low": LOW, "medium": MEDIUM, "high": HIGH}
_WORDS = {1: "low", 2: "low", 3: "medium", 4: "high", 5: "high"}
_ENDED = frozenset({Status.COMPLETED, Status.CANCELLED})
_OWN = "tasky:"
_DESCRIBED = "## Description\n\n"
# Notes of ours, which a file of Backlog.md has no place for; its own times have no microseconds.
_BEGINS = r"\n\n(?=\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z [^\n]*: )"
_NOTES = re.compile(rf"(?:\A|\n\n)## Notes({_BEGINS}.*)\Z", re.DOTALL)
_NOTE = re.compile(_BEGINS)
_TOLD = ("id", "title")
_FIELDS = frozenset(
    {"name", "details", "status", "priority", "due_date", "tags", "blockers", "subtask_of"}
)


class Backlog:
    name = "backlog"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        return [_record(path, content) for path, content in sorted(files.items())]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        return dict(_file(record) for record in records)

    def new_id(self, number: int, task_id: str) -> str:
        return f"TASK-{number}"


def has_front_matter(content: str) -> bool:
    found = _FRONT.match(content)
    return found is not None and re.search(r"(?m)^id:", found[1]) is not None


def _record(path: str, content: str) -> Record:
    found = _FRONT.match(content)
    if found is None:
        raise wrong(path, "has no front matter")
    try:
        data = _fields(found[1])
    except yaml.YAMLError as error:
        raise wrong(path, f"has front matter that is not YAML: {error}") from error
    if not isinstance(data, dict) or not data.get("id") or not data.get("title"):
        raise wrong(path, "has no id or no title")
    references = texts(data.get("references"))
    own = [one.removeprefix(_OWN) for one in references if one.startswith(_OWN)]
    details, notes = _without_notes(found[2].replace("\r\n", "\n").strip("\n"))
    status = _status(data.get("status"), path)
    if own:
        details = details.removeprefix(_DESCRIBED)
    return Record(
        id=str(data["id"]).upper(),
        name=str(data["title"]),
        details=details,
        status=status,
        priority=_LEVELS.get(text(data.get("priority")).lower()),
        due_date=text(data.get("due_date")).replace(" ", "T") or None,
        tags=texts(data.get("labels")),
        blockers=tuple(one.upper() for one in texts(data.get("dependencies"))),
        parent=text(data.get("parent_task_id")).upper() or None,
        notes=notes,
        created_at=_time(data.get("created_date")),
        updated_at=_time(data.get("updated_date")),
        rest={k: v for k, v in data.items() if k not in _TOLD}
        | {"_file": path, "_front": found[1], "_body": found[2]},
        task_id=own[0] if own else None,
        statuses=_ENDED if status is Status.COMPLETED else frozenset(),
        fields=_FIELDS,
        priorities=_SPANS.get(text(data.get("priority")).lower(), frozenset()),
    )


def _without_notes(body: str) -> tuple[str, tuple[Note, ...]]:
    found = _NOTES.search(body)
    if found is None:
        return body, ()
    notes = []
    for one in _NOTE.split(found[1])[1:]:
        at, _, rest = one.partition(" ")
        author, _, said = rest.partition(": ")
        notes.append(Note(at, author, said))
    return body[: found.start()], tuple(notes)


def _fields(front: str) -> Any:
    said = _LIST_AT.sub(r'\1"\2"', _AT.sub(r'\1"\2"', front.replace("\r\n", "\n")))
    # As texts: no date, no number is read into something else.
    return yaml.load(said, Loader=yaml.BaseLoader)  # noqa: S506  it makes texts and lists only


def _time(said: object) -> str | None:
    return text(said).replace(" ", "T") or None


def _status(word: object, path: str) -> Status:
    """Return what a word says of the task in this file; what is archived is not to be done."""
    said = text(word).strip().lower()
    if said in ("done", "completed", "complete", "closed"):
        return Status.COMPLETED
    is_archived = "archive" in path.split("/")[:-1]
    is_cancelled = is_archived or said in ("cancelled", "canceled", "archived")
    return Status.CANCELLED if is_cancelled else Status.PENDING


def _file(record: Record) -> tuple[str, str]:
    was = {k: v for k, v in record.rest.items() if not k.startswith("_")}
    data: dict[str, Any] = {"id": record.id.partition(" (")[0], "title": record.name, "status": ""}
    if not was:
        data["assignee"] = []
        data["created_date"] = text(record.created_at)[:16].replace("T", " ")
        data |= {"labels": list(record.tags), "dependencies": list(record.blockers)}
    data |= was
    place = text(record.rest.get("_file"))
    data["status"] = kept(
        record.status, was.get("status"), lambda word: _status(word, place), _word
    )
    if _LEVELS.get(text(was.get("priority")).lower()) != record.priority and (
        "priority" in was or record.priority not in (None, 3)
    ):
        data["priority"] = _WORDS[record.priority or 3]
    if not has_labels(record.tags, texts(was.get("labels"))):
        data["labels"] = list(record.tags)
    waits = {*record.blockers, *record.rest.get("_unknown", ())}
    if {_plain(one) for one in texts(was.get("dependencies"))} != {_plain(one) for one in waits}:
        data["dependencies"] = list(record.blockers)
    if record.parent and _plain(text(was.get("parent_task_id"))) != _plain(record.parent):
        data["parent_task_id"] = record.parent
    elif record.parent is None and "_unknown" not in record.rest:
        data.pop("parent_task_id", None)
    if record.due_date is None:
        data.pop("due_date", None)
    elif text(was.get("due_date")).replace(" ", "T") != record.due_date:
        data["due_date"] = record.due_date[:16].replace("T", " ")
    if not was:
        data["updated_date"] = text(record.updated_at)[:16].replace("T", " ")
        data["references"] = [f"{_OWN}{record.task_id}"]
    front = text(record.rest.get("_front"))
    is_same = bool(front) and _is_same(data, _fields(front))
    if _NUMBER.fullmatch(text(was.get("ordinal"))):
        data["ordinal"] = float(was["ordinal"]) if "." in was["ordinal"] else int(was["ordinal"])
    if not is_same:
        front = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000).rstrip()
    body = record.details
    if body and not was:
        body = _DESCRIBED + body
    if record.notes:
        said = [f"{note.at} {note.author}: {note.text}" for note in record.notes]
        body = "\n\n".join([body, "## Notes", *said]).strip("\n")
    whole = text(record.rest.get("_body"))
    body = whole if whole and body == whole.strip("\n") else f"\n{body}\n"
    slug = re.sub(r"[^\w.+]+", "-", record.name).strip("-.")[:80]
    path = record.rest.get("_file") or f"tasks/{record.id.lower()} - {slug}.md"
    return str(path), f"---\n{front}\n---\n{body}"


def _is_same(data: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Tell whether a file's front matter says what it said: then it stays, letter by letter."""
    return {**data, "id": ""} == {**said, "id": ""} and data["id"] == said["id"].upper()


def _plain(said: str) -> str:
    """Return an id without its prefix, which older files call otherwise."""
    return said.upper().rpartition("-")[2]


def _word(status: Status) -> str:
    # There is no word for cancelled; without one it would be done again.
    return "To Do" if status is Status.PENDING else "Done"
