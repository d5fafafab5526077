"""Tasks, claims, events and searches, as frozen values.

Times are text: UTC, ISO 8601, of one width each, so that text order is time order in every store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from ..errors import Json
from .dates import seconds

NO_DETAILS = "N/A"
NEVER = "9999-12-31T23:59:59Z"
"""When a task without a due date is due, in the order of lists."""


class Limits(NamedTuple):
    """How much one call or one field may hold."""

    name: int = 500
    details: int = 50_000
    tag: int = 50
    tags: int = 30
    relations: int = 1_000
    items: int = 10_000
    ids: int = 200
    page: int = 200
    key: int = 200
    note: int = 5_000
    notes: int = 200
    lease_seconds: int = 7 * 86_400


LIMITS = Limits()


def written(details: str | None) -> str:
    """Return what somebody wrote there: nothing for the placeholder of a task without details."""
    return "" if details in (None, NO_DETAILS) else details


class Status(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    CANCELLED = "cancelled"

    def may_become(self, other: "Status") -> bool:
        """Pending goes to either end, either end goes back to pending; staying is always fine."""
        return self is other or Status.PENDING in (self, other)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who works on a task, until when (UTC, to the second), and the token that proves it.

    `claimant` is the name that is shown; `holder` is what proves the holder without the token
    (see `Actor`), and empty where only the token does.
    """

    claimant: str
    token: str
    until: str
    holder: str = ""

    def is_live(self, now: datetime) -> bool:
        """Whether the lease runs. One that ends later than any lease may was made by a wrong
        clock, and binds nobody."""
        return seconds(now) < self.until <= latest_lease(now)


def lease_end(now: datetime, length: int) -> str:
    """Return when a lease of so many seconds ends that begins now: at a whole second, no sooner."""
    end = now + timedelta(seconds=length)
    return seconds(end + timedelta(microseconds=-end.microsecond % 1_000_000))


def latest_lease(now: datetime) -> str:
    """Return the latest end that a lease made by now can have."""
    return lease_end(now, LIMITS.lease_seconds)


class Source(NamedTuple):
    """Where a task was brought in from: the tool, the task's id there, and what the tool says of it
    that has no field here, as JSON text."""

    format: str
    id: str
    rest: str = "{}"


class Note(NamedTuple):
    """What somebody left at a task for whoever takes it up; notes are added, never changed."""

    at: str
    author: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. `number` counts creations in its plan; `last_event` is the event that made its
    present content; `due_at` is the instant that `due_date`, a day or an instant, stands for.

    `done_when` names conditions that must hold when the task is completed; `discovered_from` is the
    task during which this one was found, which may be gone since.
    `revision` counts changes of the content, `claims` how often the task was claimed.

    Invariants: it never changes: after a change there is another, of the same `task_id`, `number`
    and `created_at`. There is no `due_at` without a `due_date`. `revision` and `claims` never fall.
    """

    task_id: str
    number: int
    name: str
    details: str = NO_DETAILS
    status: Status = Status.PENDING
    priority: int = 3
    due_date: str | None = None
    due_at: str | None = None
    tags: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    subtask_of: str | None = None
    discovered_from: str | None = None
    done_when: tuple[str, ...] = ()
    source: Source | None = None
    created_at: str
    updated_at: str
    revision: int = 1
    last_event: int = 0
    claim: Claim | None = None
    claims: int = 0
    notes: tuple[Note, ...] = ()

    @property
    def shown_revision(self) -> int:
        """The revision that callers see: a claim raises it as a change does."""
        return self.revision + self.claims

    def live_claim(self, now: datetime) -> Claim | None:
        """Return the claim that binds others at this moment."""
        return self.claim if self.claim and self.claim.is_live(now) else None

    @property
    def is_open(self) -> bool:
        return self.status is Status.PENDING

    @property
    def due_key(self) -> str:
        return self.due_at or NEVER

    @property
    def sort_key(self) -> str:
        """The order of every list: priority downwards, due date upwards with none last, creation.

        Fixed columns: 1 character of priority, 20 of due instant, 27 of creation, 12 of number.
        """
        return f"{5 - self.priority}{self.due_key}{self.created_at}{self.number:012d}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of a list. `details` is there only where a snippet must be cut from it."""

    task_id: str
    name: str
    status: Status
    priority: int
    due_date: str | None
    sort_key: str
    details: str | None = None
    claimed_by: str | None = None
    unblocks: int = 0
    """How many open tasks wait for it, where that is the order."""

    @classmethod
    def of(cls, task: Task, **more: Any) -> "Summary":
        """Return a task as a row, with what the task alone does not tell."""
        return cls(
            task_id=task.task_id,
            name=task.name,
            status=task.status,
            priority=task.priority,
            due_date=task.due_date,
            sort_key=task.sort_key,
            **more,
        )


# Claims are released instead, notes stay, and an undo is undone by making the change again.
NEVER_UNDONE = ("claim", "release", "note", "undo")


class Change(NamedTuple):
    """A field's value before and after, as JSON data."""

    before: Json
    after: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one task: history, audit and undo.

    `batch` is the id of the first event of the call, `item` the operation's index in it.
    `previous` is the event that made the content before this one. `caller` is the name that is
    shown; `actor` is what proves who it was (see `Actor`), and empty where nothing does: then
    `undo_key`, the SHA-256 of a token that only the caller was told, stands in its place.

    Invariants: it never changes, but that `undone_by` is set when it is undone. `undoes` is set in
    an `undo` alone. `event_id` is at least `batch`.
    """

    event_id: int
    batch: int
    item: int
    at: str
    caller: str
    action: str
    task_id: str
    name: str
    revision: int
    changes: dict[str, Change]
    previous: int = 0
    undoes: int | None = None
    undone_by: int | None = None
    actor: str = ""
    undo_key: str = ""

    @property
    def can_be_undone(self) -> bool:
        return self.action not in NEVER_UNDONE


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer to a call with an idempotency key, and what that call asked.

    `key` holds its owner as well (`owned_key`).
    """

    key: str
    fingerprint: str
    answer: str
    at: str


def owned_key(owner: str, key: str) -> str:
    """Return the name that an owner's idempotency key is kept by."""
    return f"{owner}\n{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A search. Times are bounds on text: `created_after` excludes it, `due_until` includes it.

    `ready_for` is an actor's key: pending, nothing open blocks it, nobody else holds it at `now`;
    an empty key holds nothing. `claimed_by` is a claimant's name, `held_by` an actor's key, whose
    agents count as well; `held` is by anybody; `waiting` is pending and cannot be begun, because it
    or one that it is part of waits; `now` and `latest_lease` bound the leases that run.

    Invariants: it never changes. A task matches that meets every condition; None, what is empty,
    and False ask for nothing. `now` and `latest_lease` are no conditions.
    """

    status: Status | None = None
    words: tuple[str, ...] = ()
    created_after: str | None = None
    due_until: str | None = None
    priority: int | None = None
    tags: tuple[str, ...] = ()
    ready_for: str | None = None
    claimed_by: str | None = None
    held_by: str | None = None
    held: bool = False
    waiting: bool = False
    now: str = ""
    latest_lease: str = ""

    def only(self, **conditions: Any) -> "Wanted":
        """Return a search at the same moment with no other conditions than these."""
        return Wanted(now=self.now, latest_lease=self.latest_lease, **conditions)

    @property
    def only_status(self) -> bool:
        """Whether the number of matches is known without looking at tasks."""
        return self == self.only(status=self.status)

    @property
    def only_words(self) -> bool:
        """Whether nothing is wanted but what an index of words has: words, tags and a status."""
        return self == self.only(words=self.words, tags=self.tags, status=self.status)


class Members(NamedTuple):
    """The first of the tasks in a relation, by their ids, and how many there are in all."""

    first: Sequence[str] = ()
    total: int = 0

    @classmethod
    def of(cls, ids: Sequence[str], most: int) -> "Members":
        """Return so many of them at most."""
        return cls(ids[:most], len(ids))


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a search, one row longer than asked for when more remains; `has_more` where there
    are more matches than `total`, at which the count ended."""

    rows: list[Summary] = field(default_factory=list)
    total: int = 0
    has_more: bool = False
