"""How the tasks of a plan leave it for other tools."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..model import LIMITS, Task, written
from .formats import NATIVE, Record
from .formats.record import moment
from .imports import mark


def taken_out(tasks: Sequence[Task], form: str, new_id: Any) -> list[Record]:
    """Return tasks as the other tool's: with their ids there, where they came from it."""
    ids: dict[str, str] = {}
    for task in tasks:
        if task.source and task.source.format == form:
            ids[task.task_id] = task.source.id
    used = [int(found[0]) for one in ids.values() if (found := re.findall(r"\d+", one))]
    number = max(used, default=0)
    parts: dict[str, int] = {}
    for task in sorted(tasks, key=lambda one: one.number):
        if task.task_id in ids:
            continue
        above = ids.get(task.subtask_of or "")
        if form == "task-master" and above and "." not in above:
            parts[above] = parts.get(above, _most_parts(ids, above)) + 1
            ids[task.task_id] = f"{above}.{parts[above]}"
        else:
            number += 1
            ids[task.task_id] = new_id(number, task.task_id)
    return [_record(task, form, ids) for task in tasks]


def _most_parts(ids: Mapping[str, str], above: str) -> int:
    numbers = [one.rpartition(".")[2] for one in ids.values() if one.startswith(f"{above}.")]
    return max((int(one) for one in numbers if one.isdecimal()), default=0)


def _record(task: Task, form: str, ids: Mapping[str, str]) -> Record:
    rest: dict[str, Any] = {}
    if task.source and form == NATIVE:
        rest = task.source._asdict()
    elif task.source and task.source.format == form:
        rest = dict(json.loads(task.source.rest).get("kept", {}))
    name, details = _as_named(task, str(rest.get("_name", "")))
    whole = str(rest.get("_details", ""))
    if whole and task.details in (whole.strip(), f"{whole[: LIMITS.details - 1]}…"):
        details = whole
    created_at, updated_at = _times(task, form, rest)
    return Record(
        id=ids[task.task_id],
        name=name,
        details=details,
        status=task.status,
        priority=task.priority,
        due_date=task.due_date,
        tags=task.tags,
        blockers=tuple(ids[one] for one in task.blockers if one in ids),
        parent=ids.get(task.subtask_of or ""),
        discovered_from=ids.get(task.discovered_from or ""),
        done_when=task.done_when,
        notes=task.notes,
        created_at=created_at,
        updated_at=updated_at,
        rest=rest,
        task_id=task.task_id,
        place=task.source.id.partition("/")[0]
        if task.source and task.source.format == form
        else "",
    )


def _times(task: Task, form: str, rest: Mapping[str, Any]) -> tuple[str, str]:
    """Return when a task was made and changed, in the other tool's own words where it said so and
    nothing was changed here since."""
    created, updated = (str(rest.get(name) or "") for name in ("_created", "_updated"))
    if task.source is None or task.source.format != form or form == NATIVE:
        return task.created_at, task.updated_at
    seen = json.loads(task.source.rest).get("seen", {})
    is_as_there = all(mark(getattr(task, name)) == one for name, one in seen.items())
    return (
        created if moment(created) == task.created_at else task.created_at,
        updated if updated and is_as_there else task.updated_at,
    )


def _as_named(task: Task, there: str) -> tuple[str, str]:
    """Return name and details as the other tool has them, where the name did not fit here and is
    what it was."""
    details = written(task.details)
    plain = " ".join(there.replace("\0", "").split())
    if plain == task.name:
        return there, details
    if plain and task.name.endswith("…") and plain.startswith(task.name[:-1]):
        return there, details.removeprefix(plain).lstrip("\n")
    return task.name, details
