"""Backlog.md: a Markdown file for each task, in `backlog/tasks/` and `backlog/completed/`.

Its front matter is YAML; its body has sections, which stay as they are in a task's details.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ...model import Note, Status
from .record import (
    HIGH,
    LOW,
    MEDIUM,
    OWN,
    Record,
    exact,
    first,
    has_labels,
    kept,
    level_of,
    reference,
    referred,
    text,
    texts,
    wrong,
)

_FRONT = re.compile(
    r"\A(?P<begin>\ufeff?---\r?\n)(?P<front>.*?)(?P<end>\r?\n---[ \t]*(?:\r?\n)?)(?P<body>.*)\Z",
    re.DOTALL,
)
# `@` begins no YAML value; Backlog.md takes names that do, without quotes.
_AT = re.compile(r"(?m)^(\s*(?:assignee|reporter):\s*)(@[^\n]*)$")
_LIST = re.compile(r"(?m)^\s*\w+:\s*\[[^\]]*\]")
_LIST_AT = re.compile(r"(?<=[\[,])(\s*)(@[^\s,\]\"']+)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LEVELS = {"low": 2, "medium": 3, "high": 4, "critical": 5}
_SPANS = {"low": LOW, "medium": MEDIUM, "high": HIGH}
_WORDS = {1: "low", 2: "low", 3: "medium", 4: "high", 5: "high"}
_ENDED = frozenset({Status.COMPLETED, Status.CANCELLED})
# What has no place there, behind our id among the references.
_EXTRAS = {"discovered_from", "done_when"}
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
    return found is not None and re.search(r"(?m)^id:", found["front"]) is not None


def _record(path: str, content: str) -> Record:
    found = _FRONT.match(content)
    if found is None:
        raise wrong(path, "has no front matter")
    try:
        data = _fields(found["front"])
    except yaml.YAMLError as error:
        raise wrong(path, f"has front matter that is not YAML: {error}") from error
    if not isinstance(data, dict) or not data.get("id") or not data.get("title"):
        raise wrong(path, "has no id or no title")
    own, extras = referred(_reference_in(data))
    newline = _newline(found["begin"])
    details, notes = _read_body(found["body"], newline, own)
    status = _status(data.get("status"), path)
    is_ended = status is Status.COMPLETED
    is_exact = is_ended and first(extras, "status") == Status.CANCELLED
    word = text(data.get("priority")).lower()
    priority, is_very = level_of(extras, word, _WORDS, _LEVELS)
    return Record(
        id=str(data["id"]).upper(),
        name=str(data["title"]),
        details=details,
        status=Status.CANCELLED if is_exact else status,
        priority=priority,
        due_date=text(data.get("due_date")).replace(" ", "T") or None,
        tags=texts(data.get("labels")),
        blockers=tuple(one.upper() for one in texts(data.get("dependencies"))),
        parent=text(data.get("parent_task_id")).upper() or None,
        discovered_from=first(extras, "discovered_from"),
        done_when=tuple(extras.get("done_when", ())),
        notes=notes,
        created_at=_time(data.get("created_date")),
        updated_at=_time(data.get("updated_date")),
        rest={k: v for k, v in data.items() if k not in _TOLD}
        | {"_file": path, "_front": found["front"], "_body": found["body"]}
        | {"_around": [found["begin"], found["end"]]},
        task_id=own,
        statuses=_ENDED if is_ended and not is_exact else frozenset(),
        fields=_FIELDS | {*extras},
        priorities=frozenset() if is_very else _SPANS.get(word, frozenset()),
    )


def _newline(begin: str) -> str:
    """Return how a file ends its lines, by its first one."""
    return "\r\n" if begin.endswith("\r\n") else "\n"


def _reference_in(data: Mapping[str, Any]) -> str:
    """Return the reference to a task of ours, by which an export knows it again."""
    said = texts(data.get("references"))
    return next((one for one in said if one.startswith(OWN)), "")


def _read_body(body: str, newline: str, own: str | None) -> tuple[str, tuple[Note, ...]]:
    """Return details and notes that a body holds. Where the whole file ends its lines as Windows
    does, they are ours; else such ends belong to the text."""
    plain = body.replace("\r\n", "\n") if newline == "\r\n" else body
    details, notes = _without_notes(plain.strip("\n"))
    return (details.removeprefix(_DESCRIBED) if own else details), notes


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
    plain = _AT.sub(r'\1"\2"', front.replace("\r\n", "\n"))
    said = _LIST.sub(lambda found: _LIST_AT.sub(r'\1"\2"', found[0]), plain)
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
    own, level = _reference_in(was), record.priority or 3
    data["status"] = kept(
        record.status, was.get("status"), lambda word: _status(word, place), _word
    )
    word = text(was.get("priority")).lower()
    is_said = _LEVELS.get(word) == record.priority or (own and _WORDS.get(level) == word)
    if not is_said and ("priority" in was or record.priority not in (None, 3)):
        data["priority"] = _WORDS[level]
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
        data["due_date"] = record.due_date
    if not was:
        data["updated_date"] = text(record.updated_at)[:16].replace("T", " ")
    if not was or own:
        theirs = [one for one in texts(was.get("references")) if one != own]
        data["references"] = (
            [*theirs, ours] if (ours := _reference(record)) != own else was["references"]
        )
    front = text(record.rest.get("_front"))
    is_same = bool(front) and _is_same(data, _fields(front))
    if _NUMBER.fullmatch(text(was.get("ordinal"))):
        data["ordinal"] = float(was["ordinal"]) if "." in was["ordinal"] else int(was["ordinal"])
    begin, end = record.rest.get("_around", ("---\n", "\n---\n"))
    newline = _newline(begin)
    if not is_same:
        front = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000).rstrip()
        front = front.replace("\n", newline)
    body = _body(record, newline, is_ours=not was or bool(own))
    slug = re.sub(r"[^\w.+]+", "-", record.name).strip("-.")[:80]
    path = record.rest.get("_file") or f"tasks/{record.id.lower()} - {slug}.md"
    return str(path), f"{begin}{front}{end}{body}"


def _reference(record: Record) -> str:
    """Return the reference to a task with what Backlog.md has no word for."""
    is_cancelled = record.status is Status.CANCELLED
    names = {*_EXTRAS, *exact(record, _WORDS), *(("status",) if is_cancelled else ())}
    return reference(record, sorted(names))


def _body(record: Record, newline: str, *, is_ours: bool) -> str:
    """Return the body as it was, where it says what the task does, else what the task says."""
    whole = record.rest.get("_body")
    own = record.task_id if is_ours else None
    if whole is not None and _read_body(whole, newline, own) == (record.details, record.notes):
        return str(whole)
    is_described = whole is None or text(whole).lstrip("\r\n").startswith(_DESCRIBED.strip())
    body = record.details
    if body and is_ours and is_described:
        body = _DESCRIBED + body
    if record.notes:
        said = [f"{note.at} {note.author}: {note.text}" for note in record.notes]
        body = "\n\n".join([body, "## Notes", *said]).strip("\n")
    body = f"\n{body}\n"
    return body if newline == "\n" else re.sub("\r?\n", newline, body)


def _is_same(data: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Tell whether a file's front matter says what it said: then it stays, letter by letter."""
    return {**data, "id": ""} == {**said, "id": ""} and data["id"] == said["id"].upper()


def _plain(said: str) -> str:
    """Return an id without its prefix, which older files call otherwise."""
    return said.upper().rpartition("-")[2]


def _word(status: Status) -> str:
    # There is no word for cancelled; without one it would be done again.
    return "To Do" if status is Status.PENDING else "Done"
