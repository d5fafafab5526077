"""A plan and all that callers do with it: look, search, create, edit, follow its history."""

import base64
import hashlib
import json
import secrets
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import Any

from ..errors import Conflict, Denied, Invalid, TaskyError, failed_items
from ..model import LIMITS, NO_DETAILS, Claim, Day, Kept, Moment, Status, Task, Wanted
from ..model.dates import micros, parse_when, seconds
from ..model.words import words_of
from ..storage import Changes, Guard, Reading, Store, no_guard
from . import inputs
from .draft import Draft, Stamp, refuse_too_many, resolve, unknown
from .inputs import Caller, NewTask, Operation, Search
from .views import (
    FIELDS,
    ON_REQUEST,
    Relations,
    View,
    brief_view,
    deleted_view,
    event_view,
    full_views,
    only_fields,
    row_view,
    status_counts,
)

_ANSWERS_KEPT = timedelta(days=7)
# A call that touches more tasks than this is answered with short rows.
_FULL_ANSWERS = 200
_MOST_RELATED = 100
_MOST_DEPTH = 5
_HISTORY = 20
_CLEAR = ("", "none", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a plan is called, and how its people say dates and priorities."""

    name: str
    zone: tzinfo = UTC
    description: str = ""
    priority: int = 3
    status: Status = Status.PENDING
    lease_seconds: int = 900


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[View]
    total: int
    next_cursor: str | None


def _now() -> datetime:
    return datetime.now(UTC)


class Tasks:
    """The service of one plan; safe to share between threads.

    `changed` is told after a write, so that whoever watches the plan looks at once.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        *,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
        changed: Callable[[], None] | None = None,
    ) -> None:
        self.plan = plan
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._changed = changed

    def close(self) -> None:
        self._store.close()

    # Looking

    def info(self, guard: Guard = no_guard) -> View:
        """Return the plan's name, description, statuses and counts."""
        with self._store.read(guard) as reading:
            counts = reading.counts()
            last_event = reading.last_event()
        today = self._clock().astimezone(self.plan.zone)
        return {
            "name": self.plan.name,
            "description": self.plan.description,
            "available_statuses": [status.value for status in Status],
            "task_counts": status_counts(counts),
            "total": sum(counts.values()),
            "transitions": {"pending": ["completed", "cancelled"], "completed": ["pending"]}
            | {"cancelled": ["pending"]},
            "priorities": "1 to 5, 5 is the highest",
            "time_zone": str(self.plan.zone),
            "today": today.strftime("%Y-%m-%d (%A)"),
            "store": self._store.kind,
            "last_event": last_event,
        }

    def search(self, asked: Search, caller: Caller, guard: Guard = no_guard) -> Page:
        """Return a page of rows in the plan's order, and how many match in all."""
        limit = _limit(asked.limit)
        wanted = self._wanted(asked, caller)
        after, total = _from_cursor(asked)
        with self._store.read(guard) as reading:
            found = reading.search(wanted, after, limit, total is None)
        total = found.total if total is None else total
        rows = found.rows[:limit]
        cursor = None
        if len(found.rows) > limit:
            cursor = _to_cursor(rows[-1].sort_key, total, asked)
        return Page([row_view(row, wanted.words) for row in rows], total, cursor)

    def get(
        self,
        task_ids: Sequence[str],
        depth: int = 0,
        fields: Sequence[str] | None = None,
        guard: Guard = no_guard,
    ) -> list[View]:
        """Return full tasks, and up to 100 of those related to them within `depth` steps."""
        refuse_too_many(task_ids, "task_ids")
        _check_fields(fields)
        if not 0 <= depth <= _MOST_DEPTH:
            raise Invalid(
                f"depth {depth} is out of range.",
                reason="invalid_depth",
                suggestions=[f"Use 0 to {_MOST_DEPTH}."],
            )
        now = seconds(self._clock())
        with self._store.read(guard) as reading:
            views = full_views(reading, _all_found(reading, task_ids), now)
            views = _with_related(reading, views, depth, now, guard)
            if fields and "history" in fields:
                for view in views:
                    events = reading.events(task_id=str(view["task_id"]), limit=_HISTORY)
                    view["history"] = [event_view(event) for event in events]
        return only_fields(views, fields) if fields else views

    def history(
        self, task_id: str | None = None, *, before: int | None = None, limit: int = 50
    ) -> list[View]:
        """Return events, the newest first, of one task or of the plan."""
        with self._store.read() as reading:
            full_id = resolve(reading, task_id) if task_id else None
            events = reading.events(task_id=full_id, before=before, limit=limit)
            if full_id and not events:
                raise unknown(task_id or "")
        return [event_view(event) for event in events]

    def touched_after(self, event_id: int, limit: int = 1_000) -> list[str]:
        """Return the ids of the tasks that look different since this event."""
        with self._store.read() as reading:
            changed = {event.task_id for event in reading.events(after=event_id, limit=limit)}
            # A task shows which of its blockers are open, and the name of what it blocks.
            waiting = {one for ids in reading.waiting(changed).values() for one in ids}
        return sorted(changed | waiting)

    def last_event(self) -> int:
        with self._store.read() as reading:
            return reading.last_event()

    def ids_from(self, prefix: str, limit: int) -> list[str]:
        """Return ids that begin so, for completion."""
        with self._store.read() as reading:
            return reading.ids_from(prefix.lower(), limit)

    # Writing

    def create(
        self,
        items: Sequence[object],
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        guard: Guard = no_guard,
    ) -> list[View]:
        """Create all tasks or none; items may refer to each other by `ref`."""
        inputs.check_count(items, "task")
        write = _Write(self, "create_tasks", list(items), idempotency_key, dry_run)
        return write.run(lambda draft, at: self._create(draft, items, caller, at), guard)

    def edit(
        self,
        items: Sequence[object],
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        guard: Guard = no_guard,
    ) -> list[View]:
        """Apply all operations in their order or none; one result for each operation."""
        inputs.check_count(items, "operation")
        write = _Write(self, "edit_tasks", list(items), idempotency_key, dry_run)
        return write.run(lambda draft, at: self._edit(draft, items, caller, at), guard)

    def bring_in(
        self, items: Sequence[object], caller: Caller, *, dry_run: bool = False
    ) -> tuple[list[View], int]:
        """Take in exported tasks with their ids, states and times; those already here stay as
        they are. Return what was made, and how many were here."""
        here = self._here(items)
        new = [item for item in items if not (isinstance(item, dict) and _id_of(item) in here)]
        write = _Write(self, "import", list(new), None, dry_run)
        views = write.run(lambda draft, at: bring_in(draft, self, new, caller, at), no_guard)
        return views, len(items) - len(new)

    def _here(self, items: Sequence[object]) -> set[str]:
        ids = {_id_of(item) for item in items if isinstance(item, dict)}
        with self._store.read() as reading:
            return set(reading.tasks(ids))

    def everything(self) -> list[View]:
        """Return all tasks in full, in the order of their creation."""
        with self._store.read() as reading:
            now = seconds(self._clock())
            return full_views(reading, list(reading.every_task()), now, sys.maxsize)

    def copy_to(self, other: Store, finish: Callable[[], object]) -> int:
        """Copy tasks and history into an empty store, and `finish` while nobody can write here."""
        with self._store.write() as source, other.write() as target:
            if target.last_event() or any(target.counts().values()):
                raise Conflict("The other store is not empty.", reason="store_not_empty")
            tasks = list(source.every_task())
            target.apply(
                Changes(
                    tasks=[(None, task) for task in tasks],
                    events=list(source.every_event()),
                    last_number=source.last_number(),
                )
            )
            finish()
        return len(tasks)

    # How creating goes

    def _create(
        self, draft: Draft, items: Sequence[object], caller: Caller, at: datetime
    ) -> "_Outcome":
        failures: dict[int, TaskyError] = {}
        specs: dict[int, NewTask] = {}
        for index, item in enumerate(items):
            with _collecting(failures, index):
                specs[index] = inputs.read_new_task(item)
        ids = {index: str(self._new_id()) for index in range(len(items))}
        refs = _refs(specs, ids, failures)
        made: dict[int, Task] = {}
        for index, spec in specs.items():
            with _collecting(failures, index):
                made[index] = self.new_task(draft, spec, at, refs, ids[index])
        whole = _Outcome([], failures)
        for index, task in made.items():
            draft.add(task, Stamp(micros(at), caller.identity(None), index))
        for index, task in made.items():
            if specs[index].blockers or specs[index].subtask_of:
                with _collecting(failures, index):
                    draft.refuse_cycles(task)
            whole.results.append(_Result(task.task_id, {"ref": specs[index].ref}))
        return whole

    def new_task(
        self,
        draft: Draft,
        spec: NewTask,
        at: datetime,
        refs: Mapping[str, str] = MappingProxyType({}),
        task_id: str | None = None,
    ) -> Task:
        """Return the task that a specification asks for, not kept yet."""
        due = self._due(spec.due_date, at)
        moment = micros(at)
        return Task(
            task_id=task_id or str(self._new_id()),
            number=draft.new_number(),
            name=spec.name,
            details=spec.details or NO_DETAILS,
            status=self.plan.status,
            priority=spec.priority or self.plan.priority,
            due_date=str(due) if due else None,
            due_at=seconds(due.end) if due else None,
            tags=spec.tags,
            blockers=_related(draft, spec.blockers, refs),
            subtask_of=_related(draft, [spec.subtask_of], refs)[0] if spec.subtask_of else None,
            created_at=moment,
            updated_at=moment,
        )

    # How editing goes

    def _edit(
        self, draft: Draft, items: Sequence[object], caller: Caller, at: datetime
    ) -> "_Outcome":
        failures: dict[int, TaskyError] = {}
        operations: dict[int, Operation] = {}
        for index, item in enumerate(items):
            with _collecting(failures, index):
                operations[index] = inputs.read_operation(item)
        draft.load(op.task_id for op in operations.values() if len(op.task_id) == 36)
        whole = _Outcome([], failures)
        for index, operation in operations.items():
            with _collecting(failures, index):
                stamp = Stamp(micros(at), caller.identity(operation.agent), index)
                whole.results += self._operate(draft, operation, stamp, at)
        return whole

    def _operate(
        self, draft: Draft, operation: Operation, stamp: Stamp, at: datetime
    ) -> list["_Result"]:
        if operation.action == "undo":
            if operation.task_id:
                draft.found(operation.task_id)
            return [_Result(task_id) for task_id in draft.undo(operation.event_id, stamp)]
        task = draft.found(operation.task_id)
        _check_revision(task, operation.if_revision)
        result = _Result(task.task_id)
        match operation.action:
            case "update":
                self._update(draft, task, operation, stamp, at)
            case "delete":
                draft.delete(task, stamp)
            case "claim" | "renew":
                result.extra["claim_token"] = self._claim(draft, task, operation, stamp, at)
            case "release":
                _release(draft, task, operation, stamp, at)
            case action:
                _move(draft, task, action, inputs.STATES[action], stamp)
        return [result]

    def _update(
        self, draft: Draft, task: Task, operation: Operation, stamp: Stamp, at: datetime
    ) -> None:
        content = dict(operation.fields)
        if "details" in content:
            content["details"] = str(content["details"]).strip() or NO_DETAILS
        if "status" in content:
            _check_transition(task, inputs.status(content["status"]))
        if "due_date" in content:
            due = self._due(str(content["due_date"]), at)
            content["due_date"] = str(due) if due else None
            content["due_at"] = seconds(due.end) if due else None
        if "blockers" in content:
            content["blockers"] = _related(draft, operation.fields["blockers"], {})
        if "subtask_of" in content:
            parent = str(content["subtask_of"])
            clear = parent.lower() in _CLEAR
            content["subtask_of"] = None if clear else _related(draft, [parent], {})[0]
        after = draft.change(task, "update", stamp, **content)
        if (after.blockers, after.subtask_of) != (task.blockers, task.subtask_of):
            draft.refuse_cycles(after)

    def _claim(
        self, draft: Draft, task: Task, operation: Operation, stamp: Stamp, at: datetime
    ) -> str:
        claim = task.claim
        live = claim is not None and claim.until > seconds(at)
        if not task.is_open:
            raise Conflict(
                f"“{task.name}” is {task.status}; only a pending task can be claimed.",
                reason="not_open",
            )
        until = at + timedelta(seconds=operation.lease_seconds or self.plan.lease_seconds)
        if claim and _is_holder(claim, operation, stamp):
            kept = replace(claim, until=seconds(until))
            draft.set_claim(task, "renew" if live else operation.action, stamp, kept)
            return claim.token
        if operation.action == "renew":
            raise _not_holder(task)
        if claim and live:
            raise Conflict(
                f"“{task.name}” is claimed by {claim.claimant!r} until {claim.until}.",
                reason="claimed",
                suggestions=["Take another task (search with ready), or wait for the lease's end."],
                details={"claimed_by": claim.claimant, "claimed_until": claim.until},
            )
        new = Claim(stamp.caller, secrets.token_urlsafe(12), seconds(until))
        draft.set_claim(task, "claim", stamp, new)
        return new.token

    # Words to values

    def _due(self, said: str | None, at: datetime) -> Day | Moment | None:
        if said is None or said.strip().lower() in _CLEAR:
            return None
        return parse_when(said, at, self.plan.zone)

    def _wanted(self, asked: Search, caller: Caller) -> Wanted:
        now = self._clock()
        zone = self.plan.zone
        created = due = None
        if asked.created_after:
            since = parse_when(asked.created_after, now, zone, "created_after")
            # A day's own tasks belong to it; an instant is excluded.
            early = timedelta(microseconds=1 if isinstance(since, Day) else 0)
            created = micros(since.start - early)
        if asked.due_before:
            due = seconds(parse_when(asked.due_before, now, zone, "due_before").end)
        words = tuple(words_of(asked.search)) if asked.search else ()
        if asked.search and asked.search.strip() and not words:
            raise Invalid(
                f"search {asked.search!r} holds no word.",
                reason="invalid_search",
                suggestions=["Give at least one letter or digit."],
            )
        return Wanted(
            status=inputs.status(asked.status) if asked.status else None,
            words=words[:20],
            created_after=created,
            due_until=due,
            priority=inputs.priority(asked.priority) if asked.priority is not None else None,
            tags=inputs.tags(asked.tags),
            ready_for=caller.identity(None) if asked.ready else None,
            now=seconds(now),
        )

    def _tell(self) -> None:
        if self._changed:
            self._changed()


@dataclass(slots=True)
class _Result:
    """Which task an operation touched, and what its answer says besides the task."""

    task_id: str
    extra: View

    def __init__(self, task_id: str, extra: View | None = None) -> None:
        self.task_id = task_id
        self.extra = {name: value for name, value in (extra or {}).items() if value is not None}


@dataclass(slots=True)
class _Outcome:
    results: list[_Result]
    failures: dict[int, TaskyError]


class _collecting:
    """Keep an item's refusal and go on with the next item."""

    def __init__(self, failures: dict[int, TaskyError], index: int) -> None:
        self._failures = failures
        self._index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, (Invalid, Conflict, Denied)) or _is_missing(error):
            assert isinstance(error, TaskyError)
            self._failures.setdefault(self._index, error)
            return True
        return False


def _is_missing(error: BaseException | None) -> bool:
    return isinstance(error, TaskyError) and error.code == "not_found"


@dataclass(slots=True)
class _Write:
    """One writing call: its key is honoured, it is tried whole, then kept whole or not at all."""

    tasks: Tasks
    tool: str
    items: list[object]
    key: str | None
    dry_run: bool

    def run(self, work: Callable[[Draft, datetime], _Outcome], guard: Guard) -> list[View]:
        service = self.tasks
        inputs.key(self.key)
        at = service._clock()
        if self.dry_run:
            with service._store.read(guard) as reading:
                return self._tried(Draft(reading), work, at)
        with service._store.write(guard) as writing:
            if self.key and (kept := writing.kept(self.key)):
                return self._original(kept)
            draft = Draft(writing)
            outcome = self._worked(draft, work, at)
            changes = draft.changes
            if not changes.tasks and not changes.events and not self.key:
                return self._views(writing, draft, outcome, at)
            writing.apply(changes)
            views = self._views(writing, draft, outcome, at)
            if self.key:
                writing.apply(Changes(kept=self._kept(views, at), forget_kept_before=_old(at)))
        service._tell()
        return views

    def _worked(
        self, draft: Draft, work: Callable[[Draft, datetime], _Outcome], at: datetime
    ) -> _Outcome:
        outcome = work(draft, at)
        if outcome.failures:
            noun = "operation" if self.tool == "edit_tasks" else "task"
            raise failed_items(outcome.failures, len(self.items), noun)
        return outcome

    def _tried(
        self, draft: Draft, work: Callable[[Draft, datetime], _Outcome], at: datetime
    ) -> list[View]:
        outcome = self._worked(draft, work, at)
        views = self._views(draft, draft, outcome, at)
        return [{**view, "dry_run": True} for view in views]

    def _views(
        self, relations: Relations, draft: Draft, outcome: _Outcome, at: datetime
    ) -> list[View]:
        ids = [result.task_id for result in outcome.results]
        present = {key: task for key in ids if (task := draft.task(key))}
        if len(present) > _FULL_ANSWERS:
            views = {key: brief_view(task) for key, task in present.items()}
        else:
            shown = full_views(relations, list(present.values()), seconds(at))
            views = {str(view["task_id"]): view for view in shown}
        return [
            {**views.get(result.task_id, deleted_view(result.task_id)), **result.extra}
            for result in outcome.results
        ]

    def _kept(self, views: list[View], at: datetime) -> Kept:
        assert self.key
        return Kept(self.key, self._fingerprint(), json.dumps(views), micros(at))

    def _original(self, kept: Kept) -> list[View]:
        if kept.fingerprint != self._fingerprint():
            raise Conflict(
                f"idempotency_key {self.key!r} was used for another call.",
                reason="idempotency_key_reused",
                suggestions=["Use a new key for a new call; repeat a call unchanged."],
            )
        views: list[View] = json.loads(kept.answer)
        return views

    def _fingerprint(self) -> str:
        body = json.dumps([self.tool, self.items], sort_keys=True, default=str)
        return hashlib.sha256(body.encode()).hexdigest()


def _id_of(item: Mapping[str, object]) -> str:
    return str(item.get("task_id", "")).lower()


def bring_in(
    draft: Draft, tasks: Tasks, items: Sequence[object], caller: Caller, at: datetime
) -> _Outcome:
    """Make exported tasks anew, with their own ids, states and times."""
    failures: dict[int, TaskyError] = {}
    made: dict[int, Task] = {}
    specs: dict[int, NewTask] = {}
    for index, item in enumerate(items):
        with _collecting(failures, index):
            given, kept = inputs.read_exported(item)
            specs[index] = inputs.read_new_task(given)
            task = tasks.new_task(draft, replace(specs[index], blockers=(), subtask_of=None), at)
            made[index] = replace(task, **_kept_fields(kept, task))
    known = {task.task_id: task.task_id for task in made.values()}
    outcome = _Outcome([], failures)
    for index, task in made.items():
        with _collecting(failures, index):
            spec = specs[index]
            parent = [spec.subtask_of] if spec.subtask_of else []
            related = replace(
                task,
                blockers=_related(draft, spec.blockers, known),
                subtask_of=next(iter(_related(draft, parent, known)), None),
            )
            draft.add(related, Stamp(micros(at), caller.identity(None), index))
            made[index] = related
            outcome.results.append(_Result(task.task_id))
    for index, task in made.items():
        with _collecting(failures, index):
            draft.refuse_cycles(task)
    return outcome


def _kept_fields(kept: dict[str, str], task: Task) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "task_id" in kept:
        found["task_id"] = kept["task_id"]
    if "status" in kept:
        found["status"] = inputs.status(kept["status"])
    for name in ("created_at", "updated_at"):
        if name in kept:
            found[name] = inputs.moment(kept[name], name)
    return found


def _refs(
    specs: dict[int, NewTask], ids: dict[int, str], failures: dict[int, TaskyError]
) -> dict[str, str]:
    """Return the ids that temporary references stand for."""
    refs: dict[str, str] = {}
    for index, spec in specs.items():
        if spec.ref is None:
            continue
        if spec.ref in refs:
            failures[index] = Invalid(
                f"ref {spec.ref!r} is used twice.",
                reason="duplicate_ref",
                suggestions=["Give every task of the call a ref of its own."],
            )
        refs.setdefault(spec.ref, ids[index])
    return refs


def _related(draft: Draft, said: object, refs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of related tasks, each once; a reference of this call goes before a prefix."""
    assert isinstance(said, (list, tuple))
    found = {refs[one] if one in refs else draft.found(one).task_id for one in said}
    return tuple(sorted(found))


def _check_revision(task: Task, expected: int | None) -> None:
    if expected is not None and expected != task.revision:
        raise Conflict(
            f"“{task.name}” is at revision {task.revision}, not {expected}.",
            reason="stale_revision",
            suggestions=["Get the task again and decide anew."],
            details={"revision": task.revision},
        )


def _check_transition(task: Task, status: Status) -> None:
    if not task.status.may_become(status):
        raise Conflict(
            f"Cannot transition task '{task.task_id}' from {task.status} to {status}.",
            reason="invalid_transition",
            suggestions=["pending becomes completed or cancelled; both become pending again."],
        )


def _move(draft: Draft, task: Task, action: str, status: Status, stamp: Stamp) -> None:
    _check_transition(task, status)
    draft.change(task, action, stamp, status=status)


def _release(draft: Draft, task: Task, operation: Operation, stamp: Stamp, at: datetime) -> None:
    """Give a claim back; where there is none that lives, that is already so."""
    claim = task.claim
    if claim is None:
        return
    if _is_holder(claim, operation, stamp):
        draft.set_claim(task, "release", stamp, None)
    elif claim.until > seconds(at):
        raise _not_holder(task)


def _is_holder(claim: Claim, operation: Operation, stamp: Stamp) -> bool:
    if operation.token is not None:
        return secrets.compare_digest(operation.token.encode(), claim.token.encode())
    return claim.claimant == stamp.caller


def _not_holder(task: Task) -> Conflict:
    claim = task.claim
    holder = f"{claim.claimant!r} holds it" if claim else "nobody does"
    return Conflict(
        f"You do not hold the claim of “{task.name}”; {holder}.",
        reason="not_claimant",
        suggestions=["Claim the task, or show the token that the claim returned."],
    )


def _all_found(reading: Reading, said: Sequence[str]) -> list[Task]:
    """Return the tasks named, each once, or say of all that are wrong what is wrong."""
    failures: dict[int, TaskyError] = {}
    ids: dict[int, str] = {}
    for index, one in enumerate(said):
        with _collecting(failures, index):
            ids[index] = resolve(reading, one)
    found = reading.tasks(list(ids.values()))
    for index, task_id in ids.items():
        if task_id not in found:
            failures[index] = unknown(said[index])
    if failures:
        raise failed_items(failures, len(said), "task_id", "")
    return [found[task_id] for task_id in dict.fromkeys(ids.values())]


def _with_related(
    reading: Reading, views: list[View], depth: int, now: str, guard: Guard
) -> list[View]:
    """Append the tasks within `depth` relations, nearest first, marked with their distance."""
    seen = {str(view["task_id"]) for view in views}
    ring = views
    for distance in range(1, depth + 1):
        guard()
        near = dict.fromkeys(one for view in ring for one in _neighbours(view))
        room = _MOST_RELATED - sum("distance" in view for view in views)
        wanted = [one for one in near if one not in seen]
        tasks = reading.tasks(wanted[:room])
        ring = full_views(reading, [tasks[one] for one in wanted[:room] if one in tasks], now)
        ring = [{**view, "distance": distance} for view in ring]
        seen.update(str(view["task_id"]) for view in ring)
        views = [*views, *ring]
        if len(wanted) > room:
            views[0] = {**views[0], "related_cut_at": _MOST_RELATED}
            break
    return views


def _neighbours(view: View) -> list[str]:
    found: list[str] = []
    for name in ("subtask_of", "blockers", "blocks", "subtasks"):
        value = view[name]
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += [str(one) for one in value]
    return found


def _check_fields(fields: Sequence[str] | None) -> None:
    for name in fields or ():
        if name not in (*FIELDS, *ON_REQUEST):
            raise Invalid(
                f"{name!r} is not a field of a task.",
                reason="unknown_field",
                suggestions=[f"Fields: {', '.join((*FIELDS, *ON_REQUEST))}."],
            )


def _limit(asked: int | None) -> int:
    limit = 50 if asked is None else asked
    if not 1 <= limit <= LIMITS.page:
        raise Invalid(
            f"limit {limit} is out of range.",
            reason="invalid_limit",
            suggestions=[f"Use 1 to {LIMITS.page}; go on with the cursor."],
        )
    return limit


def _asked_hash(asked: Search) -> str:
    body = json.dumps([str(getattr(asked, name)) for name in _FILTERS])
    return hashlib.sha256(body.encode()).hexdigest()[:8]


_FILTERS = ("status", "search", "created_after", "due_before", "priority", "tags", "ready")


def _to_cursor(sort_key: str, total: int, asked: Search) -> str:
    return base64.urlsafe_b64encode(f"{_asked_hash(asked)}{total}|{sort_key}".encode()).decode()


def _from_cursor(asked: Search) -> tuple[str, int | None]:
    """Return the key to go on after and the total that the first page counted."""
    if not asked.cursor:
        return "", None
    try:
        text = base64.urlsafe_b64decode(asked.cursor.encode()).decode()
        total, sort_key = text[8:].split("|")
        if text[:8] == _asked_hash(asked):
            return sort_key, int(total)
    except ValueError:
        pass
    raise Invalid(
        "cursor does not belong to this search.",
        reason="invalid_cursor",
        suggestions=["Repeat the search with the same filters, or leave cursor out to begin anew."],
    )


def _old(at: datetime) -> str:
    return micros(at - _ANSWERS_KEPT)
