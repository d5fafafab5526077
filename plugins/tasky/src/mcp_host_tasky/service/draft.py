"""The working copy of one write: every operation is tried here before anything is kept."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..model import Change, Claim, Event, Members, Note, Summary, Task, Wanted
from ..storage import Changes, Reading
from .content import CONTENT, IDENTITY, difference, json_of
from .draft_relations import DraftRelations
from .ids import resolve, unknown, whole_ids
from .requests import Actor

_LOOKED_BACK = 1_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """When, by whom, and as which operation of the call a change is made."""

    at: str
    actor: Actor
    item: int
    undo_key: str = ""


class Draft:
    """Tasks as they would be, over a reading of how they are.

    Invariants: `_before` and `_now` have the same tasks, as the reading has them and as they would
    be; `changes` is the difference. The ids of `_events` follow each other from `_first_event` on,
    and `_recorded` has the last of each task and operation. `_ids` are the full ids of what was
    said, in the reading. Nothing is written here.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._before: dict[str, Task | None] = {}
        self._now: dict[str, Task | None] = {}
        self._relations = DraftRelations(reading, self._before, self._now, self.load)
        self._ids: dict[str, str] = {}
        self._events: list[Event] = []
        self._recorded: dict[tuple[str, int], Event] = {}
        self._undone: dict[int, int] = {}
        self._first_event = reading.last_event() + 1
        self._number = reading.last_number()

    @property
    def changes(self) -> Changes:
        pairs = ((self._before[key], task) for key, task in self._now.items())
        return Changes(
            tasks=[(before, after) for before, after in pairs if before != after],
            events=self._events,
            undone=self._undone,
        )

    def now(self) -> datetime:
        """The moment by the store's clock."""
        return self.reading.now()

    # Finding

    def learn_ids(self, said: Iterable[str]) -> None:
        """Ask at once which tasks are meant by ids and beginnings of ids, and fetch these."""
        self._ids.update(whole_ids(self.reading, said))
        self.load(self._ids.values())

    def whole_id(self, said: str) -> str | None:
        """Return the full id that is meant, if that was learnt."""
        return self._ids.get(said)

    def load(self, ids: Iterable[str]) -> None:
        """Fetch tasks that will be asked for, all at once."""
        missing = {task_id for task_id in ids if task_id not in self._now}
        found = self.reading.tasks(missing) if missing else {}
        for task_id in missing:
            self._before[task_id] = self._now[task_id] = found.get(task_id)

    def task(self, task_id: str) -> Task | None:
        if task_id not in self._now:
            self.load([task_id])
        return self._now[task_id]

    def found(self, said: str, field: str = "task_id") -> Task:
        """Return the task of an id or of a unique beginning of one, given in this field."""
        task = self.task(self._ids.get(said) or resolve(self.reading, said, field))
        if task is None:
            raise unknown(said, field)
        return task

    def search(self, wanted: Wanted, after: str, limit: int) -> list[Summary]:
        """Return what the plan held when the write began: up to `limit` rows and one more."""
        return self.reading.search(wanted, after, limit, False).rows

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        """Return rows of what the plan held when the write began, what unblocks most first."""
        return self.reading.most_unblocking(wanted, after, limit)

    def changes_ago(self, count: int) -> Event | None:
        """Return the event so many changes ago, or None where the plan is younger."""
        event_id = self._first_event - count
        return self.reading.events_by_id([event_id]).get(event_id) if event_id > 0 else None

    def touched_or_freed(self) -> list[Task]:
        """Return the tasks that the draft changed, those that waited for one of them, and what is
        part of any of these."""
        ids = {*self._now}
        for others in self.reading.waiting(list(self._now)).values() if self._now else ():
            ids.update(others)
        level = list(ids)
        while level and len(ids) < _LOOKED_BACK:
            parts = {one for found in self.reading.subtasks(level).values() for one in found}
            level = sorted(parts - ids)
            ids.update(level)
        self.load(ids)
        return [task for task_id in ids if (task := self.task(task_id))]

    def new_number(self) -> int:
        self._number += 1
        return self._number

    # Changing

    def add(self, task: Task, stamp: Stamp) -> Task:
        event_id = self._next_event()
        task = replace(task, last_event=event_id)
        changes = {"name": Change(None, task.name)}
        if task.notes:  # of one that came from elsewhere
            changes["notes"] = Change(None, len(task.notes))
        self._record("create", stamp, task, changes)
        self._put(task.task_id, task)
        return task

    def change(self, task: Task, action: str, stamp: Stamp, **content: Any) -> Task:
        """Give a task other content; content that it already has changes nothing."""
        if all(getattr(task, name) == value for name, value in content.items()):
            return task
        after = replace(
            task,
            revision=task.revision + 1,
            updated_at=max(stamp.at, task.updated_at),  # a clock may have been set back
            last_event=self._next_event(),
            **content,
        )
        if after.claim and not after.is_open:
            after = replace(after, claim=None)
        changes = difference(task, after)
        self._record(action, stamp, after, changes, previous=task.last_event)
        self._put(task.task_id, after)
        return after

    def set_claim(self, task: Task, action: str, stamp: Stamp, claim: Claim | None) -> Task:
        """Claims are coordination, not content: undo leaves them alone. A new holder raises the
        revision that callers see, so that whoever read the task before hears of it."""
        old = task.claim.claimant if task.claim else None
        new = claim.claimant if claim else None
        after = replace(task, claim=claim, claims=task.claims + (action == "claim"))
        if action != "renew":
            self._record(action, stamp, after, {"claimed_by": Change(old, new)})
        self._put(task.task_id, after)
        return after

    def add_note(self, task: Task, stamp: Stamp, note: Note) -> Task:
        """Notes stay: undo leaves them alone, and what was changed before can still be undone."""
        after = replace(
            task,
            notes=(*task.notes, note),
            revision=task.revision + 1,
            updated_at=max(stamp.at, task.updated_at),
        )
        self._record("note", stamp, after, {"note": Change(None, note.text)})
        self._put(task.task_id, after)
        return after

    def delete(self, task: Task, stamp: Stamp) -> None:
        """Delete a task; those that waited for it or were part of it are changed with it."""
        for other in self.referring(task.task_id):
            self._detach(other, task.task_id, stamp)
        current = self.task(task.task_id)
        assert current
        gone = {name: Change(json_of(current, name), None) for name in (*IDENTITY, *CONTENT)}
        self._record("delete", stamp, current, gone, previous=current.last_event)
        self._put(task.task_id, None)

    def _detach(self, other: Task, task_id: str, stamp: Stamp) -> None:
        parent = None if other.subtask_of == task_id else other.subtask_of
        blockers = tuple(blocker for blocker in other.blockers if blocker != task_id)
        self.change(other, "update", stamp, blockers=blockers, subtask_of=parent)

    # Relations

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Ask the reading at once for what is looked at where these tasks, as they would be, come
        to wait for others or to be part of others."""
        self._relations.foresee(tasks)

    def foresee_ends(self, tasks: Collection[Task]) -> None:
        """Ask the reading at once for what is looked at where these tasks are completed."""
        self._relations.foresee_ends(tasks)

    def foresee_deletion(self, ids: Collection[str]) -> None:
        """Ask the reading at once for what is changed where these tasks are deleted."""
        self._relations.foresee_deletion(ids)

    def refuse_cycles(self, task: Task) -> None:
        """Raise when the task waits for itself, or is part of itself, with the path shown."""
        self._relations.refuse_cycles(task)

    def waits_within(self, task: Task) -> str | None:
        """Say where a task waits for one that it is part of, or for a part of its own."""
        return self._relations.waits_within(task)

    def is_held_up(self, task: Task) -> bool:
        """Whether one of those that the task is part of waits for a task outside of itself."""
        return self._relations.is_held_up(task)

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that each of these blocks, as the draft has them."""
        return self._relations.waiting(ids)

    def first_waiting(self, ids: Collection[str], most: int) -> dict[str, Members]:
        """At most so many of the tasks that each of these blocks, as the draft has them."""
        return {one: Members.of(others, most) for one, others in self.waiting(ids).items()}

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        """The open tasks that each of these blocks, as the draft has them."""
        return self._relations.open_waiting(ids, limit)

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that were found during each of these, as the draft has them."""
        return self._relations.discovered(ids)

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that are part of each of these, as the draft has them."""
        return self._relations.subtasks(ids)

    def first_subtasks(self, ids: Collection[str], most: int) -> dict[str, Members]:
        """At most so many of the parts of each of these, as the draft has them."""
        return {one: Members.of(parts, most) for one, parts in self.subtasks(ids).items()}

    def open_among(self, ids: Collection[str]) -> set[str]:
        return self._relations.open_among(ids)

    def referring(self, task_id: str) -> list[Task]:
        """Return the tasks whose blockers or parent name this one, as they are now."""
        return self._relations.referring(task_id)

    # Keeping

    def _next_event(self) -> int:
        return self._first_event + len(self._events)

    def recorded(self, task_id: str, stamp: Stamp) -> Event | None:
        """Return the last event that an operation made of a task; None where it changed nothing."""
        return self._recorded.get((task_id, stamp.item))

    def _record(
        self,
        action: str,
        stamp: Stamp,
        task: Task,
        changes: dict[str, Change],
        *,
        previous: int = 0,
        undoes: int | None = None,
    ) -> None:
        event = Event(
            event_id=self._next_event(),
            batch=self._first_event,
            item=stamp.item,
            at=stamp.at,
            caller=stamp.actor.name,
            actor=stamp.actor.key,
            undo_key=stamp.undo_key,
            action=action,
            task_id=task.task_id,
            name=task.name,
            revision=task.shown_revision,
            changes=changes,
            previous=previous,
            undoes=undoes,
        )
        self._events.append(event)
        self._recorded[event.task_id, event.item] = event

    def has_undone(self, event: Event) -> bool:
        """Whether this write has undone the event already."""
        return event.event_id in self._undone

    def take_back(
        self, event: Event, before: Task, changes: dict[str, Change], stamp: Stamp
    ) -> None:
        """Undo an event: its task is what it was `before`, or gone where the event made it."""
        undo_id = self._next_event()
        self._record("undo", stamp, before, changes, undoes=event.event_id)
        self._undone[event.event_id] = undo_id
        self._put(event.task_id, None if event.action == "create" else before)

    def _put(self, task_id: str, task: Task | None) -> None:
        if task_id not in self._before:
            self._before[task_id] = None
        self._relations.follow(task_id, self._now.get(task_id), task)
        self._now[task_id] = task
