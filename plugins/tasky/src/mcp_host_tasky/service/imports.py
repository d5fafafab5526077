"""How the tasks of other tools come into a plan.

A task that came from elsewhere keeps its id there, and of each field what was said of it there
last: a second import brings what has changed there since, and leaves what was changed here.
"""

import hashlib
import json
import operator
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ..errors import InvalidError, TaskyError
from ..model import LIMITS, NO_DETAILS, Note, Source, Task
from . import inputs
from .formats import NATIVE, Record
from .formats.record import fitting_tags, id_of, moment, pieces, told_apart
from .write import Work

_SHOWN = 60
_PREFIX = re.compile(r"^[A-Za-z][\w]*-(?=\d)")


@dataclass(slots=True)
class Report:
    """What an import did, and what of it could not be kept as it was."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Import:
    """An import under way: which task each id of the other tool means."""

    work: Work
    format: str
    report: Report
    ids: dict[str, str]
    loose: dict[str, str]
    ours: frozenset[str]
    unknown: int = 0

    def target(self, said: str) -> str | None:
        """Return the task that an id means: of this import, or one that is in the plan already."""
        found = self.ids.get(said) or (said if said in self.ours else None)
        found = found or self.loose.get(_PREFIX.sub("", said).upper())
        if found:
            return found
        task_id = _task_id(said, None, self.format)
        return task_id if self.work.draft.task(task_id) else None


def bring_in(work: Work, records: Sequence[Record], form: str, report: Report) -> None:
    """Make the tasks of another tool, or bring up to date those that came from it before."""
    records = told_apart(records)
    ids = {record.id: _task_id(record.id, record.task_id, form) for record in records}
    now = _Import(work, form, report, ids, _loose(ids), frozenset(ids.values()))
    work.draft.load(ids.values())
    contents: dict[int, dict[str, Any]] = {}
    for index, record in enumerate(records):
        with work.item(index), _told_of(record):
            contents[index] = _content(now, index, record)
    relations = _relations(now, [records[index] for index in contents])
    for index, content in contents.items():
        contents[index] = content | relations[records[index].id]
    _break_circles(now, [(ids[records[i].id], content) for i, content in contents.items()])
    made: list[Task] = []
    for index, content in contents.items():
        with work.item(index):
            task = _put(now, index, records[index], content)
            made += [task] if task else []
    for task in made:
        work.draft.refuse_cycles(task)
    if now.unknown:
        report.warnings.append(
            f"{now.unknown} relations name tasks that are not there; they are kept with the source."
        )


@contextmanager
def _told_of(record: Record) -> Iterator[None]:
    """Say which task of the file is wrong: nobody counts them."""
    try:
        yield
    except TaskyError as error:
        error.message = f"“{(record.name or record.id)[:_SHOWN]}”: {error.message}"
        raise


def _loose(ids: Mapping[str, str]) -> dict[str, str]:
    """Return tasks by their ids without the prefix that most have; files that are older than a
    change of the prefix name them by another."""
    prefixes = Counter(found[0] for said in ids if (found := _PREFIX.match(said)))
    usual = prefixes.most_common(1)[0][0] if prefixes else ""
    return {said.removeprefix(usual).upper(): ids[said] for said in ids if said.startswith(usual)}


def _task_id(said: str, own: str | None, form: str) -> str:
    """Return our id of a task: its own where the other tool kept it, else one that follows from
    the id there."""
    try:
        if own:
            return str(uuid.UUID(own))
    except ValueError:
        if form == NATIVE:
            raise InvalidError(
                f"task_id {own!r} is not a UUID.",
                reason="invalid_task_id",
                suggestions=["Leave it out to get a new one."],
            ) from None
    return str(uuid.uuid4()) if form == NATIVE else id_of(form, said)


def _content(now: _Import, index: int, record: Record) -> dict[str, Any]:
    """Return the fields of a task, checked, without its relations."""
    name, details = _fitting(record) if now.format != NATIVE else (record.name, record.details)
    tags = record.tags if now.format == NATIVE else fitting_tags(record.tags)
    given: dict[str, Any] = {"name": name, "details": details, "tags": list(tags)}
    given |= {"priority": record.priority, "due_date": record.due_date}
    spec = inputs.read_new_task({**given, "done_when": list(record.done_when)})
    due_date, due_at = now.work.due(index, spec.due_date)
    return {
        "name": spec.name,
        "details": spec.details or NO_DETAILS,
        "status": record.status,
        "priority": spec.priority or now.work.plan.priority,
        "due_date": due_date,
        "due_at": due_at,
        "tags": spec.tags,
        "done_when": spec.done_when,
    }


def _fitting(record: Record) -> tuple[str, str]:
    """Return name and details as they fit here: what of a name is too long goes to the details, and
    what of these is too long stays with the source."""
    name = " ".join(record.name.replace("\0", "").split())
    details = record.details.replace("\0", "")
    if len(name) > LIMITS.name:
        details = f"{name}\n\n{details}".strip()
        name = name[: LIMITS.name - 1] + "…"
    if len(details) > LIMITS.details:
        details = details[: LIMITS.details - 1] + "…"
    return name, details


def _relations(now: _Import, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    found = {}
    for record in records:
        unknown = []
        targets: dict[str, str] = {}
        said = [*record.blockers, *filter(None, (record.parent, record.discovered_from))]
        for one in said:
            target = now.target(one)
            if target is None:
                unknown.append(one)
            else:
                targets[one] = target
        if now.format == NATIVE and unknown:
            raise InvalidError(
                f"“{record.name}” refers to {unknown[0]!r}, which is not there.",
                reason="task_not_found",
            )
        now.unknown += len(unknown)
        blockers = {targets[one] for one in record.blockers if one in targets}
        own = now.ids[record.id]
        found[record.id] = {
            "blockers": tuple(sorted(blockers - {own})),
            "subtask_of": targets.get(record.parent or ""),
            "discovered_from": targets.get(record.discovered_from or ""),
            "_unknown": unknown,
        }
    return found


def _break_circles(now: _Import, tasks: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Leave out what would make a task wait for, or be part of, itself; other tools allow that."""
    contents = dict(tasks)
    theirs = {task_id: said for said, task_id in now.ids.items()}
    for name in ("blockers", "subtask_of"):
        graph: dict[str, list[str]] = {}
        for task_id, content in tasks:
            value = content[name]
            graph[task_id] = [value] if isinstance(value, str) else list(value or ())
        while circle := _circle(graph):
            # graphlib names a circle from what comes first to what waits for it.
            before, after = circle[0], circle[1]
            graph[after].remove(before)
            content = contents[after]
            left = tuple(one for one in graph[after] if name == "blockers")
            content[name] = left if name == "blockers" else None
            content["_unknown"] = [*content["_unknown"], theirs[before]]
            now.report.warnings.append(
                f"“{content['name']}” would {'wait for' if name == 'blockers' else 'be part of'} "
                "itself; one of these relations was left out."
            )


def _circle(graph: Mapping[str, list[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        path: list[str] = error.args[1]
        return path
    return []


def _put(now: _Import, index: int, record: Record, content: dict[str, Any]) -> Task | None:
    """Make a task, or change the one that came before; return it where it did."""
    work, draft = now.work, now.work.draft
    task_id = now.ids[record.id]
    kept = dict(record.rest)
    if unknown := content.pop("_unknown"):
        kept["_unknown"] = unknown
    if now.format != NATIVE and content["name"] != record.name:
        kept["_name"] = record.name
    if now.format != NATIVE and content["details"] == record.details.strip() != record.details:
        kept["_details"] = record.details
    if len(record.details) > LIMITS.details:
        kept["_details"] = record.details
        now.report.warnings.append(
            f"“{content['name']}” has details of {len(record.details):,} characters; those past "
            f"{LIMITS.details:,} are kept with the source."
        )
    kept |= {"_created": record.created_at, "_updated": record.updated_at}
    task = draft.task(task_id)
    source = _source(now, record, kept, content)
    notes = _notes(record, work.moment)
    stamp = work.stamp(index)
    if task is None:
        now.report.created += 1
        created = moment(record.created_at) or work.moment
        task = Task(
            task_id=task_id,
            number=draft.new_number(),
            created_at=created,
            updated_at=moment(record.updated_at) or created,
            notes=notes,
            source=source,
            **content,
        )
        draft.add(task, stamp)
        work.touched(task_id, stamp)
        return task
    changed = _changed(now, task, record, content)
    known = {(note.at, note.text) for note in task.notes}  # not all formats tell who wrote it
    new_notes = [note for note in notes if (note.at, note.text) not in known]
    is_theirs = source and task.source and task.source.format == now.format
    if (
        is_theirs
        and not _is_copy(record, task.source)
        and (changed or _without_times(source) != _without_times(task.source))
    ):
        changed["source"] = source
    after = draft.change(task, "update", stamp, **changed)
    for note in new_notes[: LIMITS.notes - len(task.notes)]:
        after = draft.add_note(after, stamp, note)
    if after == task:
        now.report.unchanged += 1
        return None
    now.report.updated += 1
    work.touched(task_id, stamp)
    return after


def _is_copy(record: Record, source: Source | None) -> bool:
    """Tell whether an export wrote a task of one list, with our id, into another: it stays of the
    list that it came from."""
    is_ours = record.task_id is not None and bool(record.place)
    return is_ours and source is not None and not source.id.startswith(f"{record.place}/")


def _changed(
    now: _Import, task: Task, record: Record, content: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the other tool says otherwise than when it was last read; of our own exports,
    all, where the file is younger than the task."""
    if now.format == NATIVE:
        is_younger = (moment(record.updated_at) or "") > task.updated_at
        return _differing(task, record, content) if is_younger else {}
    is_theirs = task.source is not None and task.source.format == now.format
    if task.source is None or not is_theirs or _is_copy(record, task.source):
        return _differing(task, record, content)
    seen = json.loads(task.source.rest).get("seen", {})
    since = {name for name, value in content.items() if seen.get(name) != mark(value)}
    return _differing(task, record, {name: content[name] for name in content if name in since})


def _differing(task: Task, record: Record, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the other tool has and says otherwise than the task does."""
    has = record.fields
    is_same = operator.eq if has is None else _is_same
    is_level = record.priority is None or task.priority in record.priorities
    unsaid = {"priority"} if is_level else set()
    if task.status in record.statuses:
        unsaid.add("status")
    return {
        name: value
        for name, value in content.items()
        if not is_same(getattr(task, name), value)
        and name not in unsaid
        and (has is None or name.replace("due_at", "due_date") in has)
    }


def _is_same(ours: Any, theirs: Any) -> bool:
    """Tell whether values are the same; texts are, whatever ends their lines and stands around
    them, of which tools keep their own ways."""
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours.replace("\r\n", "\n").strip() == theirs.replace("\r\n", "\n").strip()
    return bool(ours == theirs)


def _source(
    now: _Import, record: Record, kept: Mapping[str, Any], content: Mapping[str, Any]
) -> Source | None:
    if now.format == NATIVE:
        given = dict(record.rest)
        return Source(given["format"], given["id"], given.get("rest", "{}")) if given else None
    seen = {name: mark(value) for name, value in content.items()}
    rest = json.dumps({"kept": kept, "seen": seen}, ensure_ascii=False, sort_keys=True)
    return Source(now.format, record.id, rest)


def _without_times(source: Source | None) -> Any:
    said = json.loads(source.rest) if source else {}
    for name in ("_created", "_updated"):
        said.get("kept", {}).pop(name, None)
    return said


def mark(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:10]


def _notes(record: Record, now: str) -> tuple[Note, ...]:
    """Return comments as notes; one that is too long becomes several."""
    found = [
        Note(moment(note.at) or now, note.author, piece)
        for note in record.notes
        for piece in pieces(note.text)
    ]
    return tuple(found[: LIMITS.notes])
