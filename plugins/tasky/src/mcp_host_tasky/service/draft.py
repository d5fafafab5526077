"""The working copy of one write: every operation is tried here before anything is kept."""

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from typing import Any, cast

from ..errors import ConflictError, InvalidError, Json, NotFoundError, PermissionDeniedError
from ..model import LIMITS, Change, Claim, Event, Note, Source, Status, Summary, Task, Wanted
from ..storage import Changes, Reading
from .requests import Actor

# The content that an event can change and an undo can bring back, in the order it is shown.
_CONTENT = (
    "name",
    "details",
    "status",
    "priority",
    "due_date",
    "due_at",
    "tags",
    "blockers",
    "subtask_of",
    "discovered_from",
    "done_when",
    "source",
)
# What stands besides the content in a deleted task's event, so that it can come back whole.
_IDENTITY = ("number", "created_at", "notes")
_ID = re.compile("[0-9a-f-]{1,36}")
_SHOWN_CANDIDATES = 5
_LOOKED_BACK = 1_000
_SHOWN_PATH = 20


@dataclass(frozen=True, slots=True)
class Stamp:
    """When, by whom, and as which operation of the call a change is made."""

    at: str
    actor: Actor
    item: int
    undo_key: str = ""


class Draft:
    """Tasks as they would be, over a reading of how they are."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._before: dict[str, Task | None] = {}
        self._now: dict[str, Task | None] = {}
        self._waiting: dict[str, set[str]] = {}
        self._children: dict[str, set[str]] = {}
        self._upstream: dict[str, tuple[str, ...]] = {}
        # Tasks that are known to be in no circle, as the relations are now: no way that leads
        # back leads through them. Without these a plan of n tasks would be walked n times.
        self._waits_in_line: set[str] = set()
        self._nests_in_line: set[str] = set()
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
        return self._reading.now()

    # Finding

    def load(self, ids: Iterable[str]) -> None:
        """Fetch tasks that will be asked for, all at once."""
        missing = {task_id for task_id in ids if task_id not in self._now}
        found = self._reading.tasks(missing) if missing else {}
        for task_id in missing:
            self._before[task_id] = self._now[task_id] = found.get(task_id)

    def task(self, task_id: str) -> Task | None:
        if task_id not in self._now:
            self.load([task_id])
        return self._now[task_id]

    def found(self, said: str, field: str = "task_id") -> Task:
        """Return the task of an id or of a unique beginning of one, given in this field."""
        task_id = resolve(self._reading, said, field)
        task = self.task(task_id)
        if task is None:
            raise unknown(said, field)
        return task

    def search(self, wanted: Wanted, after: str, limit: int) -> list[Summary]:
        """Return what the plan held when the write began: up to `limit` rows and one more."""
        return self._reading.search(wanted, after, limit, False).rows

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        """Return rows of what the plan held when the write began, what unblocks most first."""
        return self._reading.most_unblocking(wanted, after, limit)

    def changes_ago(self, count: int) -> Event | None:
        """Return the event so many changes ago, or None where the plan is younger."""
        event_id = self._first_event - count
        return self._reading.events_by_id([event_id]).get(event_id) if event_id > 0 else None

    def touched_or_freed(self) -> list[Task]:
        """Return the tasks that the draft changed, those that waited for one of them, and what is
        part of any of these."""
        ids = {*self._now}
        for others in self._reading.waiting(list(self._now)).values() if self._now else ():
            ids.update(others)
        level = list(ids)
        while level and len(ids) < _LOOKED_BACK:
            parts = {one for found in self._reading.subtasks(level).values() for one in found}
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
        changes = _difference(task, after)
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
        for other in self._referring(task.task_id):
            self._detach(other, task.task_id, stamp)
        current = self.task(task.task_id)
        assert current
        gone = {name: Change(_json(current, name), None) for name in (*_IDENTITY, *_CONTENT)}
        self._record("delete", stamp, current, gone, previous=current.last_event)
        self._put(task.task_id, None)

    def _detach(self, other: Task, task_id: str, stamp: Stamp) -> None:
        parent = None if other.subtask_of == task_id else other.subtask_of
        blockers = tuple(blocker for blocker in other.blockers if blocker != task_id)
        self.change(other, "update", stamp, blockers=blockers, subtask_of=parent)

    # Relations

    def refuse_cycles(self, task: Task) -> None:
        """Raise when the task waits for itself, or is part of itself, with the path shown."""
        if task.blockers and self._is_waited_for(task.task_id):
            path = self._way(task.blockers, task.task_id)
            if path:
                raise self._cycle([task.task_id, *path], "wait for itself", "blockers")
        if task.subtask_of and self._has_subtasks(task.task_id):
            self._refuse_nesting(task)

    def _refuse_nesting(self, task: Task) -> None:
        chain = dict.fromkeys([task.task_id])
        parent = task.subtask_of
        while parent and parent not in chain and parent not in self._nests_in_line:
            chain[parent] = None
            above = self.task(parent)
            parent = above.subtask_of if above else None
        if parent == task.task_id:
            raise self._cycle([*chain, parent], "be part of itself", "subtask_of")
        if parent not in chain:
            self._nests_in_line.update(chain)

    # A task that nothing leads to is in no circle: most that are moved are spared the walk up a
    # plan that may be thousands of levels deep. What a new task has is in the draft alone.

    def _is_waited_for(self, task_id: str) -> bool:
        if self._waiting.get(task_id):
            return True
        return self._before[task_id] is not None and bool(self._reading.waiting([task_id]))

    def _has_subtasks(self, task_id: str) -> bool:
        if self._children.get(task_id):
            return True
        return self._before[task_id] is not None and bool(self._reading.subtasks([task_id]))

    def _way(self, starts: Sequence[str], goal: str) -> list[str]:
        """Return a path along blockers from one of the starts to the goal, or nothing."""
        came_from: dict[str, str | None] = dict.fromkeys(starts)
        ahead = list(starts)
        while ahead:
            here = ahead.pop()
            if here == goal:
                return _walked(came_from, here)
            for blocker in self._blockers(here):
                if blocker not in came_from and blocker not in self._waits_in_line:
                    came_from[blocker] = here
                    ahead.append(blocker)
        upstream = {one: [b for b in self._blockers(one) if b in came_from] for one in came_from}
        with suppress(CycleError):  # a circle further up is another task's to tell of
            TopologicalSorter(upstream).prepare()
            self._waits_in_line.update(came_from)
        self._waits_in_line.add(goal)
        return []

    def _blockers(self, task_id: str) -> tuple[str, ...]:
        if task_id in self._now:
            task = self._now[task_id]
            return task.blockers if task else ()
        if task_id not in self._upstream:
            found = self._reading.upstream([task_id])
            self._upstream[task_id] = ()
            for blockers in found.values():
                self._upstream.update(dict.fromkeys(blockers, ()))
            self._upstream.update(found)
        return self._upstream[task_id]

    def _cycle(self, path: list[str], what: str, field: str) -> ConflictError:
        self.load(path)
        tasks = [self.task(task_id) for task_id in path]
        steps = [f"“{task.name}” ({task.task_id[:8]})" for task in tasks if task]
        if len(steps) > 12:
            steps = [*steps[:6], f"… {len(steps) - 11} more …", *steps[-5:]]
        return ConflictError(
            f"{steps[0]} would {what}: {' → '.join(steps)}.",
            reason="cycle",
            suggestions=[f"Leave one of these relations out of {field}."],
            details={"path": path}
            if len(path) <= _SHOWN_PATH
            else {"path": path[:_SHOWN_PATH], "path_length": len(path)},
        )

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that each of these blocks, as the draft has them."""
        return {
            task_id: [one.task_id for one in self._referring(task_id) if task_id in one.blockers]
            for task_id in ids
        }

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        """The open tasks that each of these blocks, as the draft has them."""
        kept = self._reading.open_waiting(ids, limit)
        found: dict[str, list[str]] = {}
        for task_id in ids:
            others = {other for other in kept.get(task_id, ()) if other not in self._now}
            changed = self._waiting.get(task_id, set()) | {*kept.get(task_id, ())} - others
            for other in changed:
                task = self._now.get(other)
                if task and task.is_open and task_id in task.blockers:
                    others.add(other)
            if others:
                found[task_id] = sorted(others)
        return found

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that were found during each of these, as the draft has them."""
        kept = self._reading.discovered(ids)
        changed = [task for task in self._now.values() if task]
        found: dict[str, list[str]] = {}
        for task_id in ids:
            others = {other for other in kept.get(task_id, ()) if other not in self._now}
            others |= {one.task_id for one in changed if one.discovered_from == task_id}
            if others:
                found[task_id] = sorted(others)
        return found

    def is_held_up(self, task: Task) -> bool:
        """Whether one of those that the task is part of waits for a task outside of itself."""
        above = self._above(task)
        for parent in above:
            open_blockers = self.open_among(parent.blockers) if parent.is_open else ()
            for blocker in open_blockers:
                inner = self.task(blocker)
                inside = {blocker, *(one.task_id for one in self._above(inner))} if inner else ()
                if parent.task_id not in inside:
                    return True
        return False

    def waits_within(self, task: Task) -> str | None:
        """Say where a task waits for one that it is part of, or for a part of its own."""
        above = {one.task_id: one for one in self._above(task)}
        for blocker in task.blockers[:_SHOWN_PATH]:
            if blocker in above:
                whole = above[blocker].name
                return (
                    f"“{task.name}” waits for “{whole}”, which it is part of: it cannot be begun "
                    "before the whole is closed."
                )
            part = self.task(blocker)
            if part and task.task_id in {one.task_id for one in self._above(part)}:
                return (
                    f"“{task.name}” waits for its own part “{part.name}”, which a part need not be "
                    "waited for: completing a task with open parts warns by itself."
                )
        return None

    def _above(self, task: Task) -> list[Task]:
        """Return the task that this one is part of, and so on upwards."""
        found: dict[str, Task] = {}
        while task.subtask_of and task.subtask_of not in found:
            parent = self.task(task.subtask_of)
            if parent is None:
                break
            found[parent.task_id] = task = parent
        return list(found.values())

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        return {
            task_id: [one.task_id for one in self._referring(task_id) if one.subtask_of == task_id]
            for task_id in ids
        }

    def open_among(self, ids: Collection[str]) -> set[str]:
        self.load(ids)
        return {task_id for task_id in ids if (task := self.task(task_id)) and task.is_open}

    def _referring(self, task_id: str) -> list[Task]:
        """Return the tasks whose blockers or parent name this one, as they are now."""
        kept = self._reading
        ids = {
            *kept.waiting([task_id]).get(task_id, ()),
            *kept.subtasks([task_id]).get(task_id, ()),
            *self._waiting.get(task_id, ()),
            *self._children.get(task_id, ()),
        }
        self.load(ids)
        tasks = (self.task(other) for other in sorted(ids))
        return [t for t in tasks if t and (task_id in t.blockers or t.subtask_of == task_id)]

    # Undoing

    def undo(
        self,
        event_id: int | None,
        stamp: Stamp,
        token: str | None,
        refuse_held: Callable[[Task], None],
    ) -> list[str]:
        """Take back a call or one operation of it; return the ids of the tasks that it touched.

        Who is proven by nothing shows the token that the call answered. `refuse_held` is asked
        before a task is closed or removed.
        """
        if not stamp.actor.is_proven and event_id is None:
            raise undo_token_required()
        events = self._to_undo(event_id, stamp.actor)
        if token is not None:
            _check_undo_token(events, token)
        elif not stamp.actor.is_proven:
            raise undo_token_required()
        self.load(event.task_id for event in events)
        touched = list(dict.fromkeys(event.task_id for event in events))
        for event in reversed(events):
            task = self.task(event.task_id)
            self._take_back(event, stamp)
            after = self.task(event.task_id)
            if task and task.is_open and not (after and after.is_open):
                refuse_held(task)
        for task_id in touched:
            self._check_restored(task_id)
        return touched

    def last_change(self, said: str) -> int:
        """Return the event that made a task what it is; for a deleted one, its deletion."""
        task_id = resolve(self._reading, said)
        for event in self._reading.events(task_id=task_id, limit=_LOOKED_BACK):
            if event.can_be_undone and event.undone_by is None:
                return event.event_id
        raise NotFoundError(f"Nothing of task {said!r} is left to undo.", reason="nothing_to_undo")

    def _to_undo(self, event_id: int | None, actor: Actor) -> list[Event]:
        if event_id is None:
            batch = self._reading.last_batch(actor.key)
            if batch is None:
                raise NotFoundError(
                    f"There is nothing of {actor.name!r} left to undo.", reason="nothing_to_undo"
                )
            events = self._reading.batch(batch)
        else:
            event = self._reading.events_by_id([event_id]).get(event_id)
            if event is None:
                raise NotFoundError(f"There is no event {event_id}.", reason="event_not_found")
            _refuse_not_undoable(event)
            same_batch = self._reading.batch(event.batch)
            events = [other for other in same_batch if other.item == event.item]
        return [event for event in events if event.can_be_undone and event.undone_by is None]

    def _take_back(self, event: Event, stamp: Stamp) -> None:
        task = self.task(event.task_id)
        gone = event.action == "delete"
        if event.event_id in self._undone or (task is not None) == gone:
            raise _changed_since(event)
        if task is None:
            restored = _restored(event, stamp.at)
            changes = {"name": Change(None, restored.name)}
        elif task.last_event != event.event_id or (
            event.action == "create" and len(task.notes) > _notes_made(event)
        ):
            raise _changed_since(event)
        else:
            is_created = event.action == "create"
            known = {} if is_created else event.changes
            content = {name: _plain(name, c.before) for name, c in known.items()}
            restored = replace(task, **content, last_event=event.previous)
            restored = replace(
                restored, revision=task.revision + 1, updated_at=max(stamp.at, task.updated_at)
            )
            if not restored.is_open:
                restored = replace(restored, claim=None)
            changes = {name: Change(c.after, c.before) for name, c in event.changes.items()}
        undo_id = self._next_event()
        self._record("undo", stamp, restored, changes, undoes=event.event_id)
        self._undone[event.event_id] = undo_id
        self._put(event.task_id, None if event.action == "create" else restored)

    def _check_restored(self, task_id: str) -> None:
        """Refuse an undo whose result would point at tasks that are gone, or in a circle."""
        task = self.task(task_id)
        if task is None:
            referring = self._referring(task_id)
            if referring:
                raise _in_the_way(f"“{referring[0].name}” refers to a task that would go away")
            return
        needed = [*task.blockers, *([task.subtask_of] if task.subtask_of else [])]
        self.load(needed)
        if any(self.task(other) is None for other in needed):
            raise _in_the_way(f"“{task.name}” would refer to a task that was deleted since")
        self.refuse_cycles(task)

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

    def _put(self, task_id: str, task: Task | None) -> None:
        if task_id not in self._before:
            self._before[task_id] = None
        old = self._now.get(task_id)
        if task and not (old and old.blockers == task.blockers):
            self._waits_in_line.clear()
        if task and not (old and old.subtask_of == task.subtask_of):
            self._nests_in_line.clear()
        self._now[task_id] = task
        if task is None:
            return
        for blocker in task.blockers:
            self._waiting.setdefault(blocker, set()).add(task_id)
        if task.subtask_of:
            self._children.setdefault(task.subtask_of, set()).add(task_id)


def resolve(reading: Reading, said: str, field: str = "task_id") -> str:
    """Return the full id that an id or its beginning means; a full id need not exist."""
    text = said.strip().lower()
    if len(text) == 32 and "-" not in text:
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if not _ID.fullmatch(text):
        raise InvalidError(
            f"{field} {said[:60]!r} is not an id.",
            reason="invalid_id",
            suggestions=["Use a task's id (a UUID) or a unique beginning of it."],
        )
    if len(text) == 36:
        return text
    found = reading.ids_from(text, _SHOWN_CANDIDATES + 1)
    if not found:
        raise unknown(said, field)
    if len(found) > 1:
        known = reading.tasks(found[:_SHOWN_CANDIDATES])
        raise InvalidError(
            f"{field} {said!r} fits more than one task.",
            reason="ambiguous_id",
            suggestions=[f"{task.task_id} {task.name}" for task in known.values()],
        )
    return found[0]


def resolve_past(reading: Reading, said: str) -> str:
    """Return the full id that an id or its beginning means, of a task that is there or was."""
    try:
        return resolve(reading, said)
    except NotFoundError:
        found = reading.past_ids_from(said.strip().lower(), 2)
        if len(found) != 1:
            raise
        return found[0]


def unknown(said: str, field: str = "task_id") -> NotFoundError:
    of = "" if field == "task_id" else f", which {field} names"
    return NotFoundError(
        f"There is no task {said!r}{of}.",
        reason="task_not_found",
        suggestions=["Search for the task; it may have been deleted."],
    )


def refuse_too_many(ids: Collection[str], name: str) -> None:
    if len(ids) > LIMITS.ids:
        raise InvalidError(
            f"{name} holds {len(ids):,} ids; at most {LIMITS.ids} are taken.",
            reason="too_many_ids",
            suggestions=[f"Ask for at most {LIMITS.ids} at a time."],
        )


def _difference(before: Task, after: Task) -> dict[str, Change]:
    return {
        name: Change(_json(before, name), _json(after, name))
        for name in _CONTENT
        if getattr(before, name) != getattr(after, name)
    }


def _json(task: Task, name: str) -> Json:
    value: Any = getattr(task, name)
    if name == "notes":
        return [list(note) for note in value]
    if name == "source":
        return list(value) if value else None
    if isinstance(value, Status):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _plain(name: str, value: Json) -> Any:
    """Return a field's value as a task holds it."""
    if name == "status":
        return Status(str(value))
    if name == "notes":
        return tuple(Note(*note) for note in cast(Any, value))
    if name == "source":
        return Source(*cast(Any, value)) if value else None
    return tuple(value) if isinstance(value, list) else value


def _restored(event: Event, at: str) -> Task:
    content = {name: _plain(name, change.before) for name, change in event.changes.items()}
    return Task(
        task_id=event.task_id,
        updated_at=at,
        revision=event.revision + 1,
        last_event=event.previous,
        **content,
    )


def _notes_made(event: Event) -> int:
    """Return with how many notes an event made a task."""
    made = event.changes.get("notes", Change(None, 0)).after
    return made if isinstance(made, int) else 0


def _walked(came_from: dict[str, str | None], end: str) -> list[str]:
    path = [end]
    while (step := came_from[path[-1]]) is not None:
        path.append(step)
    return path[::-1]


def _refuse_not_undoable(event: Event) -> None:
    if event.undone_by is not None:
        raise ConflictError(
            f"Event {event.event_id} was already undone, by event {event.undone_by}.",
            reason="already_undone",
        )
    if not event.can_be_undone:
        way = {
            "claim": "Release the claim instead.",
            "release": "Claim the task again.",
            "note": "Notes stay; add another.",
        }
        raise ConflictError(
            f"Event {event.event_id} is of the kind {event.action!r}, which cannot be undone.",
            reason="cannot_undo",
            suggestions=[way.get(event.action, "Make the change again.")],
        )


def undo_key(token: str) -> str:
    """Return what is kept of an undo token: who reads the plan must not learn the token."""
    return sha256(token.encode()).hexdigest()


def undo_token_required() -> PermissionDeniedError:
    return PermissionDeniedError(
        "Nothing proves who you are: undo takes the event_id and the undo_token of the answer to "
        "the call.",
        reason="undo_token_required",
        suggestions=["Give event_id and undo_token, or make the change by an update."],
    )


def _check_undo_token(events: Sequence[Event], token: str) -> None:
    shown = undo_key(token)
    if not all(secrets.compare_digest(shown, event.undo_key) for event in events):
        raise PermissionDeniedError(
            "undo_token must be the one that the call to undo answered.",
            reason="wrong_undo_token",
        )


def _changed_since(event: Event) -> ConflictError:
    return ConflictError(
        f"“{event.name}” ({event.task_id[:8]}) changed since event {event.event_id}.",
        reason="changed_since",
        suggestions=["Undo the later events first, or make the change by an update."],
        details={"event_id": event.event_id, "task_id": event.task_id},
    )


def _in_the_way(what: str) -> ConflictError:
    return ConflictError(
        f"{what}.",
        reason="changed_since",
        suggestions=["Undo the later events first, or make the change by an update."],
    )
