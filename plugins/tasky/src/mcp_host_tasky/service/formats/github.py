"""GitHub issues as JSON: what `gh issue list --json …` writes, and what the REST API answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...model import Note, Status
from .record import (
    Record,
    comments_of,
    documents,
    first,
    has_labels,
    kept,
    reference,
    referred,
    referred_in,
    single,
    text,
    unmarked,
    wrong,
)

_TOLD = ("title", "body", "comments")
_AROUND = ("issues", "items", "nodes", "data", "repository", "organization", "search", "user")

_FIELDS = frozenset({"name", "details", "status", "due_date", "tags", "subtask_of"})
# What an issue has no place for, where it is one of ours: in the comment with our id.
_EXTRAS = ("priority", "due_date", "blockers", "parent", "discovered_from", "done_when")


class GitHub:
    name = "github"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        path, content = single(files)
        data = issues_of(documents(content, path))
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


def issues_of(data: Any) -> list[Any]:
    """Return the issues in pages, in the result of a search, and in an answer of GraphQL."""
    if isinstance(data, list):
        return [issue for one in data for issue in issues_of(one)]
    if isinstance(data, dict) and "title" not in data:
        around = next((name for name in _AROUND if isinstance(data.get(name), dict | list)), None)
        if around:
            return issues_of(data[around])
    return [data]


def _repository(data: dict[str, Any]) -> str:
    return _repository_of(text(data.get("html_url") or data.get("url")))


def _repository_of(url: str) -> str:
    parts = url.partition("://")[2].split("/")
    if len(parts) > 3 and parts[1] == "repos":
        parts = [parts[0], *parts[2:]]
    return "/".join(parts[1:3]) if len(parts) > 3 else ""


def _status(data: dict[str, Any]) -> Status:
    if text(data.get("state")).lower() != "closed":
        return Status.PENDING
    reason = text(data.get("stateReason") or data.get("state_reason")).lower()
    return Status.CANCELLED if reason in ("not_planned", "duplicate") else Status.COMPLETED


def _members(value: object) -> list[Any]:
    """Return a list that GraphQL may have put into `nodes`."""
    found = value.get("nodes") if isinstance(value, dict) else value
    return found if isinstance(found, list) else []


def _issue_id(data: Any, repository: str) -> str | None:
    """Return the id of an issue that another one names, by its object or its address."""
    url = text(data.get("html_url") or data.get("url")) if isinstance(data, dict) else text(data)
    number = data.get("number") if isinstance(data, dict) else url.rpartition("/")[2]
    return f"{_repository_of(url) or repository}#{number}" if number else None


def _names(value: object) -> tuple[str, ...]:
    members = _members(value)
    return tuple(text(one.get("name") if isinstance(one, dict) else one) for one in members)


def _record(data: dict[str, Any], position: int) -> Record:
    said = text(data.get("body"))
    body = unmarked(said)[0]
    own, extras = referred(referred_in(said))
    repository = _repository(data)
    number = data.get("number", data.get("id", position))
    comments = _members(data.get("comments"))
    waits = [_issue_id(one, repository) for one in _members(data.get("blockedBy"))]
    fields = _FIELDS | ({"blockers"} if "blockedBy" in data else set())
    if not {"parent", "parent_issue_url"} & {*data}:
        fields -= {"subtask_of"}
    if "milestone" not in data:
        fields -= {"due_date"}
    milestone = data.get("milestone")
    due = milestone.get("dueOn") or milestone.get("due_on") if isinstance(milestone, dict) else None
    fields |= {"subtask_of" if name == "parent" else name for name in extras}
    parent = _issue_id(data.get("parent") or data.get("parent_issue_url"), repository)
    level = first(extras, "priority")
    return Record(
        id=own if own and "number" not in data else f"{repository}#{number}",
        name=str(data["title"]),
        details=body.strip("\n") if own else _plain(body),
        status=_status(data),
        priority=int(level) if level and level.isdecimal() else None,
        due_date=due or first(extras, "due_date"),
        tags=_names(data.get("labels")),
        blockers=(*filter(None, waits), *extras.get("blockers", ())),
        parent=parent or first(extras, "parent"),
        discovered_from=first(extras, "discovered_from"),
        done_when=tuple(extras.get("done_when", ())),
        notes=tuple(
            Note(
                text(one.get("createdAt") or one.get("created_at")),
                text((one.get("author") or one.get("user") or {}).get("login")),
                text(one.get("body")),
            )
            for one in comments
        ),
        created_at=data.get("createdAt") or data.get("created_at"),
        updated_at=data.get("updatedAt") or data.get("updated_at"),
        rest={k: v for k, v in data.items() if k not in _TOLD or isinstance(v, int)}
        | {"_comments": comments, "_body": data.get("body")}
        | _around_comments(data.get("comments", ())),
        task_id=own,
        fields=fields,
    )


def _around_comments(value: object) -> dict[str, Any]:
    """Return what to keep of comments beside themselves: that there are none, what is around."""
    if isinstance(value, dict):
        return {"_around": {**value, "nodes": []}}
    return {} if _members(value) or value == () or isinstance(value, int) else {"_around": value}


def _plain(body: str) -> str:
    return body.replace("\r\n", "\n").strip("\n")


def _issue(record: Record) -> dict[str, Any]:
    was = {k: v for k, v in record.rest.items() if not k.startswith("_")}
    is_theirs = bool(was)
    data: dict[str, Any] = {**was, "title": record.name}
    data["body"] = _body(record, is_theirs)
    closed = kept(record.status, was or None, _status, lambda _: None)
    if closed is None:
        is_open = record.status is Status.PENDING
        word = "OPEN" if is_open else "CLOSED"
        is_rest = "state" in was and text(was["state"]).islower()
        data["state"] = word.lower() if is_rest else word
        reason = "NOT_PLANNED" if record.status is Status.CANCELLED else "COMPLETED"
        name = "state_reason" if is_rest else "stateReason"
        data[name] = "" if is_open else (reason.lower() if is_rest else reason)
        if "closed" in was:
            data["closed"] = not is_open
        for name in ("closedAt", "closed_at"):
            if name in was:
                data[name] = None if is_open else record.updated_at
    if not has_labels(record.tags, _names(was.get("labels"))):
        data["labels"] = [{"name": tag} for tag in record.tags]
    around = record.rest.get("_around", ())
    if around != ():
        data["comments"] = around
    if record.notes:
        comments = comments_of(
            record.notes,
            record.rest.get("_comments", ()),
            "body",
            lambda _, note: {
                "author": {"login": note.author},
                "body": note.text,
                "createdAt": note.at,
            },
        )
        is_around = isinstance(around, dict)
        data["comments"] = {**around, "nodes": comments} if is_around else comments
    if not is_theirs:
        data |= {"labels": data.get("labels", []), "createdAt": record.created_at}
        data["updatedAt"] = record.updated_at
    for name in ("updatedAt", "updated_at"):
        if name in was:
            data[name] = record.updated_at
    return data


def _body(record: Record, is_theirs: bool) -> Any:
    """Return the body as it was, where it says what the task does; else the details, with our id
    where it had it, or where the issue is made of a task of ours."""
    said = record.rest.get("_body", "")
    was = unmarked(text(said))[0]
    own = referred_in(text(said))
    if is_theirs and not own:
        return said if _plain(was) == record.details else record.details
    ours = reference(record, _EXTRAS)
    if referred(own) == referred(ours) and record.details in (was.strip("\n"), _plain(was)):
        return said
    return f"{record.details} <!-- {ours} -->" if record.details else f"<!-- {ours} -->"
