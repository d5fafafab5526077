"""The door: plain data from a client becomes new tasks and operations, or a clear refusal."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidError
from ..model import LIMITS, Status
from . import values

NEW_FIELDS = (
    "name",
    "details",
    "priority",
    "due_date",
    "tags",
    "blockers",
    "subtask_of",
    "discovered_from",
    "done_when",
    "ref",
)
UPDATE_FIELDS = (
    "name",
    "details",
    "priority",
    "due_date",
    "status",
    "tags",
    "blockers",
    "subtask_of",
    "discovered_from",
    "done_when",
)
STATES = {
    "complete": Status.COMPLETED,
    "cancel": Status.CANCELLED,
    "reopen": Status.PENDING,
}
_OF_A_TASK = ("task_id", "action", "if_revision", "agent", "note")
_TAKES = {
    "update": (
        *_OF_A_TASK,
        *UPDATE_FIELDS,
        "add_tags",
        "remove_tags",
        "add_blockers",
        "remove_blockers",
        "token",
    ),
    "delete": (*_OF_A_TASK, "token"),
    "complete": (*_OF_A_TASK, "token"),
    "cancel": (*_OF_A_TASK, "token"),
    "reopen": _OF_A_TASK,
    "claim": (*_OF_A_TASK, "lease_seconds", "token"),
    "renew": (*_OF_A_TASK, "lease_seconds", "token"),
    "release": (*_OF_A_TASK, "token"),
    "note": _OF_A_TASK,
    "next": ("action", "agent", "lease_seconds", "tags"),
    "undo": ("task_id", "action", "agent", "event_id", "undo_token", "token"),
}
ACTIONS = tuple(_TAKES)
_STEPS = {
    name: name.partition("_")[2]
    for name in _TAKES["update"]
    if name.startswith(("add_", "remove_"))
}
"""Fields of an update that add to another one, or take from it."""
_CHANGING = frozenset({*UPDATE_FIELDS, *_STEPS, "note"})
"""Fields of which an update gives at least one."""
# What other tools call these fields.
_MEANT = {
    "ids": "task_id",
    "title": "name",
    "summary": "name",
    "description": "details",
    "body": "details",
    "due": "due_date",
    "deadline": "due_date",
    "depends_on": "blockers",
    "dependencies": "blockers",
    "blocked_by": "blockers",
    "label": "tags",
    "labels": "tags",
    "parent": "subtask_of",
    "parent_id": "subtask_of",
    "found_in": "discovered_from",
    "acceptance": "done_when",
    "comment": "note",
    "notes": "note",
    "text": "note",
    "revision": "if_revision",
    "claim_token": "token",
    "assignee": "agent",
    "event": "event_id",
    "lease": "lease_seconds",
}
_NEAR = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    name: str
    details: str | None = None
    priority: int | None = None
    due_date: str | None = None
    tags: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    subtask_of: str | None = None
    discovered_from: str | None = None
    done_when: tuple[str, ...] = ()
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One edit. `fields` holds what an update gives; a field that is not given is not there.
    `tags` narrow what `next` chooses from.

    Invariants: it never changes; texts are within `LIMITS`; `fields` is empty but for `update`."""

    action: str
    task_id: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    add_blockers: tuple[str, ...] = ()
    remove_blockers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str | None = None
    if_revision: int | None = None
    agent: str | None = None
    token: str | None = None
    lease_seconds: int | None = None
    event_id: int | None = None
    undo_token: str | None = None


_READ: Mapping[str, Callable[[Mapping[str, object]], Any]] = {
    "task_id": lambda given: values.text(given["task_id"], "task_id", LIMITS.name),
    "add_tags": lambda given: values.tags(given["add_tags"], "add_tags"),
    "remove_tags": lambda given: values.tags(given["remove_tags"], "remove_tags"),
    "add_blockers": lambda given: values.ids(given["add_blockers"], "add_blockers"),
    "remove_blockers": lambda given: values.ids(given["remove_blockers"], "remove_blockers"),
    "tags": lambda given: values.tags(given["tags"]),
    "note": lambda given: _note(given["note"]),
    "if_revision": lambda given: values.whole_number(given, "if_revision"),
    "agent": lambda given: values.optional_text(given, "agent", LIMITS.key),
    "token": lambda given: values.optional_text(given, "token", LIMITS.key),
    "lease_seconds": values.lease,
    "event_id": lambda given: values.whole_number(given, "event_id"),
    "undo_token": lambda given: values.optional_text(given, "undo_token", LIMITS.key),
}
"""What of an operation is no field of its task, from what was given: most give two or three."""


def check_count(items: Sequence[object], noun: str) -> None:
    if not items:
        raise InvalidError(f"There is no {noun} in the call.", reason="no_items")
    if len(items) > LIMITS.items:
        raise InvalidError(
            f"{len(items):,} {noun}s are too many for one call; the most is {LIMITS.items:,}.",
            reason="too_many_items",
            suggestions=[f"Send them in calls of at most {LIMITS.items:,}."],
        )


def read_new_task(item: object) -> NewTask:
    """Return the new task that the item describes."""
    given = _given(item, "task")
    _refuse_unknown(given, NEW_FIELDS, "task")
    if "name" not in given:
        raise values.wrong("name", "is required", "Give every task a name.")
    return NewTask(
        name=values.task_name(given["name"]),
        details=values.optional_text(given, "details", LIMITS.details),
        priority=values.priority(given["priority"]) if "priority" in given else None,
        due_date=values.optional_text(given, "due_date", LIMITS.name),
        tags=values.tags(given.get("tags", ())),
        blockers=values.ids(given.get("blockers", ()), "blockers"),
        subtask_of=values.optional_text(given, "subtask_of", LIMITS.name),
        discovered_from=values.optional_text(given, "discovered_from", LIMITS.name),
        done_when=values.conditions(given.get("done_when", ())),
        ref=values.optional_text(given, "ref", LIMITS.name),
    )


def read_operation(item: object) -> Operation:
    """Return the operation that the item describes; `id` is taken for `task_id`."""
    given = _given(item, "operation")
    if "id" in given and "task_id" not in given:
        given["task_id"] = given.pop("id")
    action = given.get("action")
    if not isinstance(action, str) or action not in _TAKES:
        raise InvalidError(
            f"action {action!r} is not an action." if "action" in given else "action is required.",
            reason="invalid_action",
            suggestions=[f"Valid actions: {', '.join(ACTIONS)}."],
        )
    _refuse_unknown(given, _TAKES[action], f"{action} operation")
    if action not in ("undo", "next") and "task_id" not in given:
        raise values.wrong(
            "task_id", "is required", "Give the task's id or a unique beginning of it."
        )
    if action == "update":
        _check_update(given)
    if action == "note" and "note" not in given:
        raise values.wrong("note", "is required", "Say in it what the next one should know.")
    for name in ("tags", "blockers"):
        _refuse_both(given, name)
    fields = {}
    if action == "update":
        fields = {name: _field(name, given[name]) for name in UPDATE_FIELDS if name in given}
    told = {
        name: read(given) for name, read in _READ.items() if name in given and name not in fields
    }
    return Operation(action=action, fields=fields, **told)


def _check_update(given: Mapping[str, object]) -> None:
    if _CHANGING.isdisjoint(given):
        raise values.wrong(
            "update", "gives no field", f"Give one of: {', '.join((*UPDATE_FIELDS, *_STEPS))}."
        )
    for step, name in _STEPS.items():
        if step in given and name in given:
            raise values.wrong(
                step,
                f"and {name} cannot stand in one operation",
                f"{name} replaces all of them; give it alone, or add_{name} and remove_{name}.",
            )


def _refuse_both(given: Mapping[str, object], name: str) -> None:
    """Raise where one operation adds what it removes."""
    added, removed = (given.get(f"{step}_{name}") for step in ("add", "remove"))
    if isinstance(added, list | tuple) and isinstance(removed, list | tuple):
        both = [one for one in added if one in removed]
        if both:
            raise values.wrong(
                f"add_{name}", f"and remove_{name} both hold {both[0]!r}", "Give it in one of them."
            )


def _note(value: object) -> str:
    text = values.text(value, "note", LIMITS.note).strip()
    if not text:
        raise values.wrong("note", "is blank", "Say in it what the next one should know.")
    return text


def _given(item: object, noun: str) -> dict[str, object]:
    """Return what the item says; null is the same as not said."""
    if not isinstance(item, Mapping):
        raise InvalidError(
            f"Each {noun} is an object, not {type(item).__name__}.", reason="invalid_item"
        )
    return {str(name): value for name, value in item.items() if value is not None}


def _refuse_unknown(given: Mapping[str, object], known: Sequence[str], noun: str) -> None:
    for name in given:
        if name not in known:
            meant = _MEANT.get(name)
            near = [meant] if meant in known else difflib.get_close_matches(name, known, 1, _NEAR)
            hint = f"Did you mean {near[0]}?" if near else f"It takes: {', '.join(known)}."
            if name == "status" and noun == "task":
                hint = "A new task is pending; complete or cancel it afterwards."
            raise InvalidError(
                f"{name!r} is not part of a {noun}.", reason="unknown_field", suggestions=[hint]
            )


def _field(name: str, value: object) -> object:
    """Return an update's value in its final form; dates and ids are still in words."""
    match name:
        case "name":
            return values.task_name(value)
        case "details":
            return values.text(value, "details", LIMITS.details)
        case "priority":
            return values.priority(value)
        case "status":
            return values.status(value)
        case "tags":
            return values.tags(value)
        case "done_when":
            return values.conditions(value)
        case "blockers":
            return values.ids(value, "blockers")
        case _:
            return values.text(value, name, LIMITS.name).strip()
