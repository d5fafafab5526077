"""GitHub issues as JSON: what `gh issue list --json …` writes, and what the REST API answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...model import Note, Status
from .record import Record, comments_of, json_of, kept, marked, single, text, unmarked, wrong

_TOLD = ("title", "body", "comments")


_FIELDS = frozenset({"name", "details", "status", "due_date", "tags", "subtask_of"})


class GitHub:
    name = "github"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        data = json_of(content, path)
        if isinstance(data, dict):
            data = data.get("issues", data.get("items", [data] if "title" in data else None))
        if not isinstance(data, list):
            raise wrong(path, "holds no list of issues")
        if any(not isinstance(one, dict) or not one.get("title") for one in data):
            raise wrong(path, "has an issue without a title")
        # The REST API lists pull requests among the issues.
        return [
            _record(one, number) for number, one in enumerate(data, 1) if "pull_request" not in one
        ]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        issues = [_issue(record) for record in records]
        return {"": json.dumps(issues, ensure_ascii=False, indent=2) + "\n"}

    def new_id(self, number: int, task_id: str) -> str:
        return task_id


def _repository(data: dict[str, Any]) -> str:
    url = text(data.get("html_url") or data.get("url"))
    parts = url.partition("://")[2].split("/")
    if len(parts) > 3 and parts[1] == "repos":
        parts = [parts[0], *parts[2:]]
    return "/".join(parts[1:3]) if len(parts) > 3 else ""


def _status(data: dict[str, Any]) -> Status:
    if text(data.get("state")).lower() != "closed":
        return Status.PENDING
    reason = text(data.get("stateReason") or data.get("state_reason")).lower()
    return Status.CANCELLED if reason in ("not_planned", "duplicate") else Status.COMPLETED


def _names(value: object) -> tuple[str, ...]:
    members = value if isinstance(value, list) else []
    return tuple(text(one.get("name") if isinstance(one, dict) else one) for one in members)


def _record(data: dict[str, Any], position: int) -> Record:
    body, own = unmarked(text(data.get("body")))
    repository = _repository(data)
    number = data.get("number", data.get("id", position))
    parent = data.get("parent")
    parent_number = parent.get("number") if isinstance(parent, dict) else None
    comments = data.get("comments")
    milestone = data.get("milestone")
    due = milestone.get("dueOn") or milestone.get("due_on") if isinstance(milestone, dict) else None
    return Record(
        id=f"{repository}#{number}",
        name=str(data["title"]),
        details=body.replace("\r\n", "\n").strip("\n"),
        status=_status(data),
        due_date=due,
        tags=_names(data.get("labels")),
        parent=f"{repository}#{parent_number}" if parent_number else None,
        notes=tuple(
            Note(
                text(one.get("createdAt") or one.get("created_at")),
                text((one.get("author") or one.get("user") or {}).get("login")),
                text(one.get("body")),
            )
            for one in (comments if isinstance(comments, list) else ())
            if isinstance(one, dict)
        ),
        created_at=data.get("createdAt") or data.get("created_at"),
        updated_at=data.get("updatedAt") or data.get("updated_at"),
        rest={k: v for k, v in data.items() if k not in _TOLD or isinstance(v, int)}
        | {"_comments": comments if isinstance(comments, list) else []},
        task_id=own,
        fields=_FIELDS if "parent" in data else _FIELDS - {"subtask_of"},
    )


def _issue(record: Record) -> dict[str, Any]:
    was = {k: v for k, v in record.rest.items() if not k.startswith("_")}
    is_theirs = bool(was)
    data: dict[str, Any] = {**was, "title": record.name}
    data["body"] = record.details if is_theirs else marked(record.details, record).lstrip()
    closed = kept(record.status, was or None, _status, lambda _: None)
    if closed is None:
        is_open = record.status is Status.PENDING
        word = "OPEN" if is_open else "CLOSED"
        is_rest = "state" in was and text(was["state"]).islower()
        data["state"] = word.lower() if is_rest else word
        reason = "NOT_PLANNED" if record.status is Status.CANCELLED else "COMPLETED"
        name = "state_reason" if is_rest else "stateReason"
        data[name] = "" if is_open else (reason.lower() if is_rest else reason)
    if sorted({one.lower() for one in _names(was.get("labels"))}) != sorted(record.tags):
        data["labels"] = [{"name": tag} for tag in record.tags]
    if record.notes:
        data["comments"] = comments_of(
            record.notes,
            record.rest.get("_comments", ()),
            "body",
            lambda _, note: {
                "author": {"login": note.author},
                "body": note.text,
                "createdAt": note.at,
            },
        )
    data.setdefault("labels", [])
    data.setdefault("createdAt" if "created_at" not in was else "created_at", record.created_at)
    data["updatedAt" if "updated_at" not in was else "updated_at"] = record.updated_at
    return data
