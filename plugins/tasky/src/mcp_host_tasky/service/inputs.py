"""The door: plain data from a client becomes new tasks and operations, or a clear refusal."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InvalidError
from ..model import LIMITS, Status

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
# No letters: NUL, and halves of a surrogate pair.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
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
_VIEWS = ("full", "compact")
# What other tools call these fields.
_MEANT = {
    "title": "name",
    "summary": "name",
    "description": "details",
    "body": "details",
    "due": "due_date",
    "deadline": "due_date",
    "depends_on": "blockers",
    "dependencies": "blockers",
    "blocked_by": "blockers",
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
}
_NEAR = 0.7
_LEASE_SECONDS = range(1, LIMITS.lease_seconds + 1)


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
        raise _wrong("name", "is required", "Give every task a name.")
    return NewTask(
        name=_name(given["name"]),
        details=_optional_text(given, "details", LIMITS.details),
        priority=priority(given["priority"]) if "priority" in given else None,
        due_date=_optional_text(given, "due_date", LIMITS.name),
        tags=tags(given.get("tags", ())),
        blockers=_ids(given.get("blockers", ()), "blockers"),
        subtask_of=_optional_text(given, "subtask_of", LIMITS.name),
        discovered_from=_optional_text(given, "discovered_from", LIMITS.name),
        done_when=_conditions(given.get("done_when", ())),
        ref=_optional_text(given, "ref", LIMITS.name),
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
        raise _wrong("task_id", "is required", "Give the task's id or a unique beginning of it.")
    if action == "update":
        _check_update(given)
    if action == "note" and "note" not in given:
        raise _wrong("note", "is required", "Say in it what the next one should know.")
    fields = {name: _field(name, given[name]) for name in UPDATE_FIELDS if name in given}
    return Operation(
        action=action,
        task_id=_text(given.get("task_id", ""), "task_id", LIMITS.name),
        fields=fields if action == "update" else {},
        add_tags=tags(given.get("add_tags", ()), "add_tags"),
        remove_tags=tags(given.get("remove_tags", ()), "remove_tags"),
        add_blockers=_ids(given.get("add_blockers", ()), "add_blockers"),
        remove_blockers=_ids(given.get("remove_blockers", ()), "remove_blockers"),
        tags=tags(given.get("tags", ())),
        note=_note(given),
        if_revision=_whole(given, "if_revision"),
        agent=_optional_text(given, "agent", LIMITS.key),
        token=_optional_text(given, "token", LIMITS.key),
        lease_seconds=_lease(given),
        event_id=_whole(given, "event_id"),
        undo_token=_optional_text(given, "undo_token", LIMITS.key),
    )


def _check_update(given: Mapping[str, object]) -> None:
    steps = [name for name in _TAKES["update"] if name.startswith(("add_", "remove_"))]
    if not any(name in given for name in (*UPDATE_FIELDS, *steps, "note")):
        raise _wrong(
            "update", "gives no field", f"Give one of: {', '.join((*UPDATE_FIELDS, *steps))}."
        )
    for step in steps:
        name = step.partition("_")[2]
        if step in given and name in given:
            raise _wrong(
                step,
                f"and {name} cannot stand in one operation",
                f"{name} replaces all of them; give it alone, or add_{name} and remove_{name}.",
            )


def _note(given: Mapping[str, object]) -> str | None:
    if "note" not in given:
        return None
    text = _text(given["note"], "note", LIMITS.note).strip()
    if not text:
        raise _wrong("note", "is blank", "Say in it what the next one should know.")
    return text


def refuse_too_many_of(found: list[str], name: str, limit: int) -> tuple[str, ...]:
    """Return what a list comes to hold, unless that is more than it may hold."""
    if len(found) > limit:
        raise _wrong(name, f"would hold {len(found):,} items", f"Use at most {limit:,}.")
    return tuple(found)


def status(value: object) -> Status:
    try:
        return Status(str(value))
    except ValueError:
        raise InvalidError(
            f"status {value!r} is not a status.",
            reason="invalid_status",
            suggestions=[f"Valid statuses: {', '.join(Status)}."],
        ) from None


def priority(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:
        right = "Use 1 to 5; 5 is the highest."
        if isinstance(value, str) and value in ("1", "2", "3", "4", "5"):
            right = f"Give the number without quotes: {value}."
        raise _wrong("priority", f"{value!r} is not a priority", right)
    return value


def tags(value: object, name: str = "tags") -> tuple[str, ...]:
    """Return the tags in one spelling: trimmed, lower case, sorted, each once."""
    said = _list(value, name, LIMITS.tags)
    found = {" ".join(_text(tag, name, LIMITS.tag).lower().split()) for tag in said}
    if "" in found:
        raise _wrong(name, "hold an empty tag", "Leave it out.")
    return tuple(sorted(found))


def _conditions(value: object) -> tuple[str, ...]:
    """Return the names of conditions, each once."""
    said = [_text(one, "done_when", LIMITS.tag).strip() for one in _list(value, "done_when", 20)]
    if "" in said:
        raise _wrong("done_when", "holds an empty name", "Leave it out.")
    return tuple(dict.fromkeys(said))


def sort(value: str | None, *, ready: bool) -> bool:
    """Return whether what unblocks most comes first; that is known of what is ready."""
    if value in (None, "priority"):
        return False
    if value != "unblocks":
        raise _wrong("sort", f"must be priority or unblocks, not {value!r}", "Leave it out.")
    if not ready:
        raise _wrong("sort", "unblocks needs ready", "Give ready: true as well.")
    return True


def shape(view: str | None) -> str:
    """Return how a write is answered."""
    if view not in (None, *_VIEWS):
        raise _wrong("view", f"must be full or compact, not {view!r}", "Leave it out for either.")
    return view or "auto"


def key(value: str | None) -> str | None:
    if value is not None and not 1 <= len(value) <= LIMITS.key:
        raise _wrong(
            "idempotency_key",
            f"has {len(value)} characters",
            f"Use 1 to {LIMITS.key} characters.",
        )
    return value


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
            return _name(value)
        case "details":
            return _text(value, "details", LIMITS.details)
        case "priority":
            return priority(value)
        case "status":
            return status(value)
        case "tags":
            return tags(value)
        case "done_when":
            return _conditions(value)
        case "blockers":
            return _ids(value, "blockers")
        case _:
            return _text(value, name, LIMITS.name).strip()


def _name(value: object) -> str:
    text = " ".join(_text(value, "name", LIMITS.name).split())
    if not text:
        raise _wrong("name", "is blank", "Give the task a name.")
    return text


def _text(value: object, name: str, limit: int) -> str:
    if not isinstance(value, str):
        raise _wrong(name, f"{value!r} is not text", "Give a string.")
    if len(value) > limit:
        raise InvalidError(
            f"{name} has {len(value):,} characters.",
            reason="text_too_long",
            suggestions=[f"Use at most {limit:,} characters."],
        )
    if _NO_TEXT.search(value):
        raise _wrong(name, "holds a character that is no text", "Leave NUL and surrogates out.")
    return value


def _optional_text(given: Mapping[str, object], name: str, limit: int) -> str | None:
    """Return the text, or None where it is not given or blank."""
    text = _text(given.get(name, ""), name, limit).strip()
    return text or None


def _ids(value: object, name: str) -> tuple[str, ...]:
    return tuple(
        _text(said, name, LIMITS.name).strip() for said in _list(value, name, LIMITS.relations)
    )


def _list(value: object, name: str, limit: int) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(name, f"{value!r} is not a list", f'Give an array, as {name}: ["…"].')
    if len(value) > limit:
        raise _wrong(name, f"hold {len(value):,} items", f"Use at most {limit:,}.")
    return value


def _whole(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value >= 2**63:
        raise _wrong(name, f"{value!r} is not a number of this kind", "Give a whole number from 1.")
    return value


def _lease(given: Mapping[str, object]) -> int | None:
    seconds = _whole(given, "lease_seconds")
    if seconds is not None and seconds not in _LEASE_SECONDS:
        raise _wrong("lease_seconds", f"{seconds} is too long", "Use 1 to 604800 (a week).")
    return seconds


def _wrong(name: str, what: str, right: str) -> InvalidError:
    return InvalidError(f"{name} {what}.", reason=f"invalid_{name}", suggestions=[right])
