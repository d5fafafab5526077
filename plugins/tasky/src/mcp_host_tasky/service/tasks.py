"""A plan and all that callers do with it: look, search, create, edit, follow its history."""

import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from ..errors import Conflict
from ..model import Status
from ..model.dates import seconds
from ..storage import Changes, Guard, Store, no_guard
from . import creating, editing, inputs, looking
from .asked import Caller, Search
from .draft import Draft, refuse_too_many, resolve, unknown
from .plan import Plan
from .views import View, event_view, full_views, only_fields, row_view, status_counts
from .writing import Work, Write

_HISTORY = 20


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[View]
    total: int
    next_cursor: str | None
    dates: dict[str, str]
    """The dates searched by, as they were understood, where they were said in other words."""


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

    def tidy(self) -> None:
        """Do what may wait until nobody waits for an answer."""
        self._store.tidy()

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
            "transitions": {
                status.value: [
                    other.value
                    for other in Status
                    if other is not status and status.may_become(other)
                ]
                for status in Status
            },
            "priorities": "1 to 5, 5 is the highest",
            "time_zone": str(self.plan.zone),
            "today": today.strftime("%Y-%m-%d (%A)"),
            "store": self._store.kind,
            "last_event": last_event,
        }

    def search(self, asked: Search, caller: Caller, guard: Guard = no_guard) -> Page:
        """Return a page of rows in the plan's order, and how many match in all."""
        limit = looking.page_size(asked.limit)
        now = self._clock()
        meant = looking.dates(asked, self.plan, now)
        wanted = looking.wanted(asked, meant, caller, now)
        after, total = looking.from_cursor(asked)
        with self._store.read(guard) as reading:
            found = reading.search(wanted, after, limit, total is None)
        total = found.total if total is None else total
        rows = found.rows[:limit]
        cursor = None
        if len(found.rows) > limit:
            cursor = looking.to_cursor(rows[-1].sort_key, total, asked)
        views = [row_view(row, wanted.words) for row in rows]
        return Page(views, total, cursor, looking.echoed(asked, meant))

    def get(
        self,
        task_ids: Sequence[str],
        depth: int = 0,
        fields: Sequence[str] | None = None,
        guard: Guard = no_guard,
    ) -> list[View]:
        """Return full tasks, and up to 100 of those related to them within `depth` steps."""
        refuse_too_many(task_ids, "task_ids")
        looking.check_fields(fields)
        looking.check_depth(depth)
        now = seconds(self._clock())
        with self._store.read(guard) as reading:
            views = full_views(reading, looking.all_found(reading, task_ids), now)
            views = looking.with_related(reading, views, depth, now, guard)
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
            if full_id and not events and not reading.tasks([full_id]):
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

    def everything(self) -> list[View]:
        """Return all tasks in full, in the order of their creation."""
        with self._store.read() as reading:
            now = seconds(self._clock())
            return full_views(reading, list(reading.every_task()), now, sys.maxsize)

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
        write = Write("create_tasks", "task", list(items), idempotency_key, dry_run)
        return self._run(write, lambda work: creating.create(work, items), caller, guard)

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
        write = Write("edit_tasks", "operation", list(items), idempotency_key, dry_run)
        return self._run(write, lambda work: editing.edit(work, items), caller, guard)

    def bring_in(
        self, items: Sequence[object], caller: Caller, *, dry_run: bool = False
    ) -> tuple[list[View], int]:
        """Take in exported tasks with their ids, states and times; those already here stay as
        they are. Return what was made, and how many were here."""
        ids = {one for item in items if (one := inputs.exported_id(item))}
        with self._store.read() as reading:
            here = reading.tasks(ids).keys()
        new = [item for item in items if inputs.exported_id(item) not in here]
        write = Write("import", "task", new, dry_run=dry_run)
        views = self._run(write, lambda work: creating.bring_in(work, new), caller, no_guard)
        return views, len(items) - len(new)

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

    def _run(
        self, write: Write, do: Callable[[Work], None], caller: Caller, guard: Guard
    ) -> list[View]:
        begin = partial(self._begin, caller)
        views = write.run(self._store, begin, do, guard)
        if self._changed and not write.dry_run:
            self._changed()
        return views

    def _begin(self, caller: Caller, draft: Draft) -> Work:
        # The moment of a write is taken when its turn has come: times never go back in a plan.
        return Work(draft, self.plan, caller, self._clock(), self._new_id)
