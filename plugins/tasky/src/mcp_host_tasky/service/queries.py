"""How tasks are found: searches, their pages, and tasks with what they relate to."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from ..errors import InvalidError, TaskyError, failed_items
from ..model import LIMITS, Day, Status, Summary, Task, Wanted, latest_lease, parse_when, words_of
from ..model.dates import Moment, micros, seconds
from ..storage import Guard, Reading
from . import values
from .ids import resolve, resolve_past, unknown, whole_ids
from .plan import Plan
from .readiness import LOOKED_AT, Unblocks, ranked, unblocked_by
from .requests import Caller, Search
from .views import FIELDS, ON_REQUEST, View, deleted_view, full_views
from .write import Collecting

_MOST_WORDS = 20
_OPERATOR = re.compile(r"\b(?:OR|AND|NOT)\b")
WRITTEN = "w."  # no other cursor begins so: a dot is not in base64
_MOST_RELATED = 100
_MOST_DEPTH = 5
_FILTERS = (
    "status",
    "search",
    "created_after",
    "due_before",
    "priority",
    "tags",
    "ready",
    "claimed_by",
    "waiting",
    "sort",
)


def dates(asked: Search, plan: Plan, now: datetime) -> dict[str, Day | Moment]:
    """Return what the search's dates mean, by the name of the argument."""
    said = {"created_after": asked.created_after, "due_before": asked.due_before}
    return {name: parse_when(text, now, plan.zone, name) for name, text in said.items() if text}


def echoed(asked: Search, meant: Mapping[str, Day | Moment]) -> dict[str, str]:
    """Return the dates whose meaning is not what was written: words, and times without a zone;
    under `warnings` what else could have been meant."""
    told = {name: str(when) for name, when in meant.items() if str(when) != getattr(asked, name)}
    remarks = [f"{name}: {when.remark}" for name, when in meant.items() if when.remark]
    if asked.ready and asked.status not in (None, "", Status.PENDING):
        remarks.append(f"ready: what is ready is pending, so that nothing is {asked.status} too")
    if _OPERATOR.search(asked.search or ""):
        remarks.append("search: all words must be there; OR, AND and NOT are words as others are")
    return told | ({"warnings": "; ".join(remarks)} if remarks else {})


def wanted(
    asked: Search, meant: Mapping[str, Day | Moment], caller: Caller, now: datetime
) -> Wanted:
    """Return the search with its dates resolved and its words folded."""
    created = due = None
    if since := meant.get("created_after"):
        # A day's own tasks belong to it; an instant is excluded.
        early = timedelta(microseconds=1 if isinstance(since, Day) else 0)
        created = micros(since.start - early)
    if until := meant.get("due_before"):
        due = seconds(until.end)
    return Wanted(
        status=values.status(asked.status) if asked.status else None,
        words=_words(asked.search or ""),
        created_after=created,
        due_until=due,
        priority=values.priority(asked.priority) if asked.priority is not None else None,
        tags=values.tags(asked.tags),
        ready_for=caller.acting().key if asked.ready else None,
        claimed_by=asked.claimed_by if asked.claimed_by not in (None, "me", "*") else None,
        held=asked.claimed_by == "*",
        waiting=asked.waiting,
        held_by=_own_key(caller) if asked.claimed_by == "me" else None,
        now=seconds(now),
        latest_lease=latest_lease(now),
    )


def _own_key(caller: Caller) -> str:
    actor = caller.acting()
    if not actor.is_proven:
        raise InvalidError(
            "claimed_by 'me' needs a caller who is proven, and nothing proves who you are.",
            reason="unknown_caller",
            suggestions=["Give the name that you claimed with, as tasks show it in claimed_by."],
        )
    return actor.key


def _words(said: str) -> tuple[str, ...]:
    words = tuple(words_of(said))
    if said.strip() and not words:
        raise InvalidError(
            f"search {said!r} holds no word.",
            reason="invalid_search",
            suggestions=["Give at least one letter or digit."],
        )
    return words[:_MOST_WORDS]


def page_size(asked: int | None) -> int:
    limit = 50 if asked is None else asked
    if not 1 <= limit <= LIMITS.page:
        raise InvalidError(
            f"limit {limit} is out of range.",
            reason="invalid_limit",
            suggestions=[f"Use 1 to {LIMITS.page}; go on with the cursor."],
        )
    return limit


class Total(NamedTuple):
    """How many tasks match, and whether there are more than were counted."""

    number: int
    has_more: bool


def to_cursor(sort_key: str, total: Total, asked: Search) -> str:
    """Return where the next page begins, with the total that the first page counted."""
    said = f"{total.number}{'+' if total.has_more else ''}"
    return base64.urlsafe_b64encode(f"{_mark(asked)}{said}|{sort_key}".encode()).decode()


def from_cursor(asked: Search) -> tuple[str, Total | None]:
    """Return the key to go on after, and the total; a first page has neither."""
    if not asked.cursor:
        return "", None
    try:
        text = base64.urlsafe_b64decode(asked.cursor.encode()).decode()
        total, sort_key = text[8:].split("|")
        if text[:8] == _mark(asked):
            return sort_key, Total(int(total.removesuffix("+")), total.endswith("+"))
    except ValueError:
        pass
    raise foreign_cursor()


def by_unblocks(
    reading: Reading, wanted: Wanted, after: str, limit: int
) -> tuple[list[Summary], dict[str, Unblocks]]:
    """Return a page, one row longer where more remains, and what each row unblocks.

    The first rows are ranked by all that waits for them; those after them, which fewer tasks wait
    for, by what waits directly. `after` is the place that the page before ended at.
    """
    passed = int(after) if after.isdecimal() else None
    if after == "" or passed is not None:
        top = reading.most_unblocking(wanted, None, LOOKED_AT + 1)
        unblocks = unblocked_by(reading, top)
        first = ranked(top[:LOOKED_AT], unblocks)
        rows = first[passed or 0 :]
        if len(rows) <= limit and len(top) > LOOKED_AT:
            place = (top[LOOKED_AT - 1].unblocks, top[LOOKED_AT - 1].sort_key)
            more = reading.most_unblocking(wanted, place, limit + 1 - len(rows))
            unblocks |= unblocked_by(reading, more)
            rows += more
        return rows[: limit + 1], unblocks
    count, _, sort_key = after.partition(":")
    rows = reading.most_unblocking(wanted, (int(count), sort_key), limit + 1)
    return rows, unblocked_by(reading, rows)


def place_after(row: Summary, before: str, count: int) -> str:
    """Return the place after so many rows: a number among those that are ranked, then a row."""
    passed = int(before or 0) + count if before == "" or before.isdecimal() else None
    if passed is not None and passed < LOOKED_AT:
        return str(passed)
    return f"{row.unblocks}:{row.sort_key}"


def foreign_cursor() -> InvalidError:
    return InvalidError(
        "cursor does not belong to this search.",
        reason="invalid_cursor",
        suggestions=["Repeat the search with the same filters, or leave cursor out to begin anew."],
    )


def written_cursor(key: str, start: int) -> str:
    """Return where the rows of a write's answer go on, by the key that the answer is kept by."""
    text = json.dumps([key, start], ensure_ascii=False)
    return WRITTEN + base64.urlsafe_b64encode(text.encode()).decode()


def from_written_cursor(cursor: str) -> tuple[str, int]:
    try:
        text = base64.urlsafe_b64decode(cursor.removeprefix(WRITTEN).encode()).decode()
        key, start = json.loads(text)
        return str(key), max(0, int(start))
    except (ValueError, TypeError):
        raise foreign_cursor() from None


def _mark(asked: Search) -> str:
    """Return eight characters that tell one search from another."""
    body = json.dumps([str(getattr(asked, name)) for name in _FILTERS])
    return hashlib.sha256(body.encode()).hexdigest()[:8]


def all_found(reading: Reading, said: Sequence[str]) -> list[Task]:
    """Return the tasks named, each once, or say of all that are wrong what is wrong."""
    failures: dict[int, TaskyError] = {}
    ids: dict[int, str] = {}
    known = whole_ids(reading, said)
    for index, one in enumerate(said):
        with Collecting(failures, index):
            ids[index] = known.get(one) or resolve(reading, one)
    found = reading.tasks(list(ids.values()))
    for index, task_id in ids.items():
        if task_id not in found:
            failures[index] = unknown(said[index])
    if failures:
        raise failed_items(failures, len(said), "task_id", "")
    return [found[task_id] for task_id in dict.fromkeys(ids.values())]


def deleted(reading: Reading, said: Sequence[str]) -> dict[str, View]:
    """Return what is left of those of the tasks that were deleted: name, state and history."""
    found: dict[str, View] = {}
    for one in said:
        with suppress(TaskyError):
            task_id = resolve_past(reading, one)
            if task_id not in reading.tasks([task_id]):
                event = next(iter(reading.events(task_id=task_id, limit=1)), None)
                if event:
                    found[one] = {**deleted_view(task_id), "name": event.name}
    return found


def with_related(
    reading: Reading, views: list[View], depth: int, now: datetime, guard: Guard
) -> list[View]:
    """Append the tasks within `depth` relations, nearest first, marked with their distance."""
    seen = {str(view["task_id"]) for view in views}
    room = _MOST_RELATED
    ring = views
    for distance in range(1, depth + 1):
        guard()
        near = dict.fromkeys(one for view in ring for one in _neighbours(view))
        new = [one for one in near if one not in seen]
        tasks = reading.tasks(new[:room])
        ring = full_views(reading, [tasks[one] for one in new[:room] if one in tasks], now)
        ring = [{**view, "distance": distance} for view in ring]
        seen.update(new[:room])
        views = [*views, *ring]
        if len(new) > room:
            return [{**views[0], "related_cut_at": _MOST_RELATED}, *views[1:]]
        room -= len(new)
    return views


def _neighbours(view: View) -> list[str]:
    found: list[str] = []
    names = ("subtask_of", "blockers", "blocks", "subtasks", "discovered_from", "discovered")
    for name in names:
        value = view.get(name)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += [str(one) for one in value]
    return found


def check_fields(fields: Sequence[str] | None) -> None:
    for name in fields or ():
        if name not in (*FIELDS, *ON_REQUEST):
            raise InvalidError(
                f"{name!r} is not a field of a task.",
                reason="unknown_field",
                suggestions=[f"Fields: {', '.join((*FIELDS, *ON_REQUEST))}."],
            )


def check_depth(depth: int) -> None:
    if not 0 <= depth <= _MOST_DEPTH:
        raise InvalidError(
            f"depth {depth} is out of range.",
            reason="invalid_depth",
            suggestions=[f"Use 0 to {_MOST_DEPTH}."],
        )
