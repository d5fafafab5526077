"""A plan and all that callers do with it: look, search, create, edit, follow its history."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from ..model import Status, Wanted, latest_lease
from ..model.dates import seconds
from ..storage import Guard, Store, no_guard
from . import budget, creation, edits, graph as graphs, inputs, queries, relations, values
from .copying import backed_up, copied
from .draft import Draft
from .exports import taken_out
from .finished import Place, last_finished, page_of_finished
from .formats import Format, Record
from .ids import refuse_too_many, resolve, resolve_past, unknown
from .imports import Report, bring_in
from .page import Page
from .plan import Plan
from .proofs import Proofs, UnprovenError
from .requests import Caller, Search
from .views import (
    SHOWN_RELATIONS,
    WHOLE_RELATIONS,
    View,
    event_view,
    full_views,
    only_fields,
    row_view,
    status_counts,
    with_sources,
)
from .write import Work, Write
from .written import first_page, following_page

_HISTORY = 20
_SHOWN_ELSEWHERE = frozenset({"name", "status"})
"""What of a task is shown by those that wait for it: a claim, a note or a date is not."""


class Clock(Protocol):
    """Who knows the time: a reading of the store, or a draft over one."""

    def now(self) -> datetime: ...


class Tasks:
    """The service of one plan; safe to share between threads.

    `changed` is told after a write, so that whoever watches the plan looks at once. `stays` raises
    `MovedError` where the project's plan is kept in another store by now: whoever waited for this
    one would write what nobody sees. Without a `clock` of its own it goes by the store's.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        *,
        clock: Callable[[], datetime] | None = None,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
        changed: Callable[[], None] | None = None,
        stays: Guard = no_guard,
    ) -> None:
        self.plan = plan
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._changed = changed
        self._stays = stays

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Do a part of what may wait until nobody waits for an answer, little of it between two
        writes, and return whether more is left."""
        return self._store.tidy(is_pause=is_pause)

    def close(self) -> None:
        self._store.close()

    # Looking

    def info(self, guard: Guard = no_guard) -> View:
        """Return the plan's name, description, statuses and counts."""
        with self._store.read(guard) as reading:
            counts = reading.counts()
            last_event = reading.last_event()
            today = self._now(reading).astimezone(self.plan.zone)
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

    def search(
        self, asked: Search, caller: Caller, guard: Guard = no_guard, *, brief: bool = False
    ) -> Page:
        """Return a page of rows in the plan's order, and how many match in all.

        With `brief` ids are shortened, and a page ends where the budget of an answer does.
        """
        if brief and asked.cursor and asked.cursor.startswith(queries.WRITTEN):
            with self._store.read(guard) as reading:
                return following_page(reading, asked.cursor, caller)
        limit = queries.page_size(asked.limit)
        if values.sort(asked.sort, ready=asked.ready):
            return self._most_unblocking(asked, limit, caller, guard, brief=brief)
        after, total = queries.from_cursor(asked)
        with self._store.read(guard) as reading:
            now = self._now(reading)
            meant = queries.dates(asked, self.plan, now)
            wanted = queries.wanted(asked, meant, caller, now)
            found = reading.search(wanted, after, limit, total is None)
            short = reading.short_ids([row.task_id for row in found.rows]) if brief else {}
        total = queries.Total(found.total, found.has_more) if total is None else total
        rows = found.rows[:limit]
        cursor = None
        if len(found.rows) > limit:
            cursor = queries.to_cursor(rows[-1].sort_key, total, asked)
        views = [row_view(row, wanted.words, short.get(row.task_id)) for row in rows]
        fit = budget.fitting(views) if brief else len(views)
        if fit < len(views):
            views = views[:fit]
            cursor = queries.to_cursor(rows[fit - 1].sort_key, total, asked)
        dates = queries.echoed(asked, meant)
        return Page(views, total.number, cursor, dates, total.has_more)

    def finished(self, asked: Search, caller: Caller) -> Page:
        """Search one status, by tags and priority: what became so last comes first, as far as the
        last events tell, then the rest in the plan's order. A page may be shorter or longer than
        what was asked."""
        limit = queries.page_size(asked.limit)
        with self._store.read() as reading:
            place = Place.of(asked.cursor) if asked.cursor else Place(reading.last_event(), None)
            wanted = queries.wanted(asked, {}, caller, self._now(reading))
            last = last_finished(reading, wanted, place.event)[:limit]
        return page_of_finished(asked, place, last, limit, lambda other: self.search(other, caller))

    def _most_unblocking(
        self, asked: Search, limit: int, caller: Caller, guard: Guard, *, brief: bool
    ) -> Page:
        """Return a page of what is ready, what unblocks the most first."""
        after, total = queries.from_cursor(asked)
        with self._store.read(guard) as reading:
            now = self._now(reading)
            meant = queries.dates(asked, self.plan, now)
            wanted = queries.wanted(asked, meant, caller, now)
            rows, unblocks = queries.by_unblocks(reading, wanted, after, limit)
            if total is None:  # after the rows: a store may know by then how many match
                found = reading.search(wanted, "", 0, True)
                total = queries.Total(max(found.total, len(rows)), found.has_more)
            shown = [row.task_id for row in rows[:limit]]
            short = reading.short_ids(shown) if brief else {}
            details = reading.details(shown) if wanted.words else {}
        views = []
        for row in rows[:limit]:
            told = replace(row, details=details.get(row.task_id))
            view = row_view(told, wanted.words, short.get(row.task_id))
            count = unblocks[row.task_id]
            views.append({**view, "unblocks": count.shown} if count.in_all else view)
        fit = budget.fitting(views) if brief else len(views)
        cursor = None
        if fit < len(views) or len(rows) > limit:
            place = queries.place_after(rows[fit - 1], after, fit)
            cursor = queries.to_cursor(place, total, asked)
        dates = queries.echoed(asked, meant)
        return Page(views[:fit], total.number, cursor, dates, total.has_more)

    def get(
        self,
        task_ids: Sequence[str],
        depth: int = 0,
        fields: Sequence[str] | None = None,
        guard: Guard = no_guard,
        *,
        is_whole: bool = False,
    ) -> list[View]:
        """Return full tasks, and up to 100 of those related to them within `depth` steps. A task
        that is asked for alone, or all with `is_whole`, show their relations whole."""
        refuse_too_many(task_ids, "task_ids")
        queries.check_fields(fields)
        queries.check_depth(depth)
        with self._store.read(guard) as reading:
            now = self._now(reading)
            has_history = fields is not None and "history" in fields
            gone = queries.deleted(reading, task_ids) if has_history else {}
            there = [one for one in task_ids if one not in gone]
            found = queries.all_found(reading, there)
            most = WHOLE_RELATIONS if is_whole or (len(found) == 1 and not depth) else None
            views = full_views(reading, found, now, most or SHOWN_RELATIONS)
            views = queries.with_related(reading, views, depth, now, guard)
            views += gone.values()
            if has_history:
                for view in views:
                    events = reading.events(task_id=str(view["task_id"]), limit=_HISTORY)
                    view["history"] = [event_view(event) for event in events]
            if fields and "source" in fields:
                views = with_sources(reading, views)
        if not fields:
            return views
        # Of a task that is gone the fields say nothing, but that it is.
        return [*only_fields(views[: len(views) - len(gone)], fields), *gone.values()]

    def known(self, task_ids: Sequence[str]) -> dict[str, View]:
        """Return name and status of those of the tasks that are there, by their ids."""
        with self._store.read() as reading:
            found = reading.tasks(task_ids)
        return {
            task_id: {"name": task.name, "status": task.status.value}
            for task_id, task in found.items()
        }

    def history(
        self, task_id: str | None = None, *, before: int | None = None, limit: int = 50
    ) -> list[View]:
        """Return events, the newest first, of one task or of the plan."""
        with self._store.read() as reading:
            full_id = resolve_past(reading, task_id) if task_id is not None else None
            events = reading.events(task_id=full_id, before=before, limit=limit)
            if full_id and not events and not reading.tasks([full_id]):
                raise unknown(task_id or "")
        return [event_view(event) for event in events]

    def graph(self, around: str | None = None, limit: int = graphs.MOST) -> View:
        """Return what waits for what, around a task or in the whole plan, up to so many tasks."""
        with self._store.read() as reading:
            now = self._now(reading)
            wanted = Wanted(now=seconds(now), latest_lease=latest_lease(now))
            task_id = resolve(reading, around) if around is not None else None
            if task_id and not reading.tasks([task_id]):
                raise unknown(around or "")
            return graphs.graph_of(reading, wanted, task_id, limit)

    def events_after(self, event_id: int, limit: int = 200) -> list[View]:
        """Return the events after this one, the oldest first, the newest so many of them."""
        with self._store.read() as reading:
            events = reading.events(after=event_id, limit=limit)
        return [event_view(event) for event in reversed(events)]

    def touched_after(self, event_id: int, limit: int = 1_000) -> list[str]:
        """Return the ids of the tasks that look different since this event."""
        with self._store.read() as reading:
            events = reading.events(after=event_id, limit=limit)
            changed = {event.task_id for event in events}
            # A task shows what its blockers are called, and which are open.
            shown = {one.task_id for one in events if not _SHOWN_ELSEWHERE.isdisjoint(one.changes)}
            waiting = {one for ids in reading.waiting(shown).values() for one in ids}
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
        write = Write("create_tasks", "task", list(items), idempotency_key, dry_run)
        return self._create(write, caller, guard)

    def edit(
        self,
        items: Sequence[object],
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        force: bool = False,
        guard: Guard = no_guard,
    ) -> list[View]:
        """Apply all operations in their order or none; one result for each operation.

        A claim of somebody else refuses what would end its task; with `force` it does not.
        """
        write = Write("edit_tasks", "operation", list(items), idempotency_key, dry_run)
        return self._edit(write, caller, guard, force=force)

    def create_in_brief(self, write: Write, caller: Caller, guard: Guard) -> Page:
        """Create as `create` does, and answer within the budget."""
        return first_page(write, self._create(write, caller, guard))

    def edit_in_brief(self, write: Write, caller: Caller, guard: Guard) -> Page:
        """Edit as `edit` does, and answer within the budget."""
        return first_page(write, self._edit(write, caller, guard))

    def _create(self, write: Write, caller: Caller, guard: Guard) -> list[View]:
        inputs.check_count(write.items, "task")
        return self._run(write, lambda work: creation.create(work, write.items), caller, guard)

    def _edit(
        self, write: Write, caller: Caller, guard: Guard, *, force: bool = False
    ) -> list[View]:
        inputs.check_count(write.items, "operation")
        proofs = Proofs()

        def do(work: Work) -> None:
            work.force = force
            work.proofs = None if write.dry_run else proofs
            edits.edit(work, write.items)

        while True:
            try:
                return self._run(write, do, caller, guard)
            except UnprovenError as error:
                # Programs run while nobody waits for this write.
                proofs.look(error.asked, self.plan, guard)

    def bring_in(
        self, records: Sequence[Record], form: str, caller: Caller, *, dry_run: bool = False
    ) -> Report:
        """Take in the tasks of another tool, or of an export, all or none, with their ids, states
        and times; bring up to date those that were taken in before."""
        report = Report()
        write = Write("import", "task", list(records), dry_run=dry_run)
        self._run(write, lambda work: bring_in(work, records, form, report), caller, no_guard)
        return report

    def taken_out(self, form: Format) -> dict[str, str]:
        """Return all tasks as files of another tool, or of our own."""
        with self._store.read() as reading:
            tasks = list(reading.every_task())
        return form.write(taken_out(tasks, form.name, form.new_id))

    def check(self) -> list[str]:
        """Say what is damaged: in the store itself, and in how tasks relate."""
        found = self._store.check()
        if not found:
            with self._store.read() as reading:
                found = relations.damage(reading.every_task())
        return found

    def back_up(self, file: Path) -> tuple[int, bool]:
        """Copy tasks and history, as they are at one moment, into a new SQLite file; return how
        many tasks it has, and whether all of each: what is damaged is copied as far as it can be
        read."""
        return backed_up(self._store, file)

    def copy_to(self, other: Store, finish: Callable[[], object]) -> int:
        """Copy tasks and history into an empty store, and `finish` while nobody can write here.

        What is copied is kept when `finish` is called: where that never happens, as after a kill,
        the same call finds its copy and has it finished. Raises `ConflictError` where the other
        store holds anything else, and `MovedError` where somebody else moved the plan before.
        """
        with self._store.write() as source:
            self._stays()
            with other.write() as target:
                count = copied(source, target)
            finish()
        return count

    def _run(
        self, write: Write, do: Callable[[Work], None], caller: Caller, guard: Guard
    ) -> list[View]:
        begin = partial(self._begin, caller, guard)
        views = write.run(self._store, begin, do, guard)
        if self._changed and not write.dry_run:
            self._changed()
        return views

    def _begin(self, caller: Caller, guard: Guard, draft: Draft) -> Work:
        self._stays()
        # The moment of a write is taken when its turn has come: times never go back in a plan.
        return Work(draft, self.plan, caller, self._now(draft), self._new_id, guard=guard)

    def _now(self, reading: Clock) -> datetime:
        return self._clock() if self._clock else reading.now()
