"""One writing call: its key is honoured, it is tried whole, then kept whole or not at all."""

import hashlib
import json
import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from ..errors import (
    BusyError,
    ConflictError,
    Json,
    StoppedError,
    TaskyError,
    UnavailableError,
    failed_items,
)
from ..model import Event, Kept, owned_key
from ..model.dates import micros, seconds
from ..storage import Changes, Guard, Store, no_guard
from . import budget, values
from .draft import Draft, Stamp
from .plan import Plan
from .proofs import Asked, Proofs, UnprovenError
from .requests import Caller
from .undoing import undo_key
from .views import (
    SHOWN_RELATIONS,
    WHOLE_RELATIONS,
    Relations,
    View,
    brief_view,
    compact_view,
    deleted_view,
    full_views,
)

_ANSWERS_KEPT = timedelta(days=7)
_LONG_AGO = 1_000
# An idempotency key so long is taken for a random one, which nobody else happens to use.
_UNGUESSABLE = 20
_SECRETS = ("claim_token", "undo_token")
# A call that touches more tasks than this is answered with short rows.
_FULL_ANSWERS = 200
_FULL_ROWS = 10


@dataclass(slots=True)
class Collecting:
    """Keeps an item's refusal, by its index, and lets the work go on with the next item."""

    failures: dict[int, TaskyError]
    index: int

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        about_item = isinstance(error, TaskyError) and not isinstance(
            error, (BusyError, StoppedError, UnavailableError)
        )
        if about_item:
            assert isinstance(error, TaskyError)
            self.failures.setdefault(self.index, error)
        return about_item


class Touched(NamedTuple):
    """One operation's answer: its task, the event it made, what is said besides the task, and
    whether the task must be shown in full however many there are."""

    task_id: str
    event: Event | None
    extra: View
    in_full: bool = False


@dataclass(slots=True)
class Work:
    """A call's work: the draft that it changes, who asks, when, and how the items fared.

    `results` names the touched task of each operation, and what its answer says besides the task.

    Invariants: `moment` is `at` as text. There is an `undo_token` where nothing proves who the
    caller is. Where there is a failure, nothing of the call is kept.
    """

    draft: Draft
    plan: Plan
    caller: Caller
    at: datetime
    new_id: Callable[[], uuid.UUID]
    failures: dict[int, TaskyError] = field(default_factory=dict)
    results: list[Touched] = field(default_factory=list)
    warnings: dict[int, list[Json]] = field(default_factory=dict)
    force: bool = False
    """Whether a person goes past the claims of others."""
    proofs: Proofs | None = None
    """What is known of conditions; None where they are not looked at."""
    to_prove: list[Asked] = field(default_factory=list)
    undo_token: str | None = None
    guard: Guard = no_guard
    """Asked before each item whether the work is to go on."""
    moment: str = field(init=False)
    """This moment, to the microsecond: when the call's changes are made."""

    def __post_init__(self) -> None:
        self.moment = micros(self.at)
        if not self.caller.acting().is_proven:
            self.undo_token = secrets.token_urlsafe(12)

    def item(self, index: int) -> Collecting:
        self.guard()
        return Collecting(self.failures, index)

    def warn(self, index: int, remark: str | None) -> None:
        """Answer an operation with a remark as well, if there is one."""
        if remark:
            self.warnings.setdefault(index, []).append(remark)

    def due(self, index: int, said: str | None) -> tuple[str | None, str | None]:
        """Return a due date as it is kept: as it is shown, and the instant that it ends at."""
        due = self.plan.due(said, self.at)
        if due is None:
            return None, None
        self.warn(index, due.remark and f"due_date: {due.remark}.")
        return str(due), seconds(due.end)

    def stamp(self, index: int, agent: str | None = None) -> Stamp:
        key = undo_key(self.undo_token) if self.undo_token else ""
        return Stamp(self.moment, self.caller.acting(agent), index, key)

    def touched(
        self,
        task_id: str,
        stamp: Stamp,
        extra: Mapping[str, Json] | None = None,
        *,
        in_full: bool = False,
    ) -> None:
        """Answer an operation by the task that it touched, its event, and what else there is."""
        said: View = {name: value for name, value in (extra or {}).items() if value is not None}
        if stamp.item in self.warnings:
            said["warnings"] = self.warnings[stamp.item]
        event = self.draft.recorded(task_id, stamp)
        if event:
            said["event_id"] = event.event_id
            if self.undo_token:
                said["undo_token"] = self.undo_token
        self.results.append(Touched(task_id, event, said, in_full))


Begin: TypeAlias = Callable[[Draft], Work]


@dataclass(frozen=True, slots=True)
class Write:
    """A call of a tool with its items. `noun` is what an item is called in errors."""

    tool: str
    noun: str
    items: list[object]
    key: str | None = None
    dry_run: bool = False
    shape: str | None = None
    """How tasks are answered: `full`, `compact`, or `auto`, full up to ten; None is for programs,
    which can take more."""
    rows_key: str = field(default_factory=lambda: f"rows-{secrets.token_urlsafe(18)}")
    """The key that an answer is kept by where it does not fit and the call has none."""

    def run(
        self, store: Store, begin: Begin, do: Callable[[Work], None], guard: Guard
    ) -> list[View]:
        """Do the work on the store and return what it answers."""
        values.key(self.key)
        if self.dry_run:
            with store.read(guard) as reading:
                work = self._worked(begin(Draft(reading)), do)
                views = _views(work.draft, work, self.shape, {})
                return [{**view, "dry_run": True} for view in views]
        with store.write(guard) as writing:
            work = begin(Draft(writing))
            owner = work.caller.acting().key
            if self.key and (kept := writing.kept(owned_key(owner, self.key))):
                return self._original(kept, is_own=owner != "")
            work = self._worked(work, do)
            changes = work.draft.changes
            if changes.tasks or changes.events:
                writing.apply(changes)
            touched = {one.task_id for one in work.results} if self.shape else ()
            short = writing.short_ids(touched)
            views = _views(writing, work, self.shape, short)
            key = self.key
            if key is None and self.shape and budget.fitting(views) < len(views):
                key = self.rows_key
            if key:
                writing.apply(self._keep(owner, key, views, work))
        return views

    def _worked(self, work: Work, do: Callable[[Work], None]) -> Work:
        do(work)
        if work.failures:
            raise failed_items(work.failures, len(self.items), self.noun)
        if work.to_prove:
            raise UnprovenError(work.to_prove)
        return work

    def _keep(self, owner: str, key: str, views: list[View], work: Work) -> Changes:
        """Remember the answer, and forget what is old: the owner's by the time it is now, others'
        by the time it was many changes ago, which no clock that is wrong today can move."""
        kept = Kept(owned_key(owner, key), self._fingerprint(), json.dumps(views), work.moment)
        forget = [(owned_key(owner, ""), micros(work.at - _ANSWERS_KEPT))]
        if earlier := work.draft.changes_ago(_LONG_AGO):
            at = datetime.fromisoformat(earlier.at)
            forget.append(("", micros(at - _ANSWERS_KEPT)))
        return Changes(kept=[kept], forget=forget)

    def _original(self, kept: Kept, *, is_own: bool) -> list[View]:
        if kept.fingerprint != self._fingerprint():
            raise ConflictError(
                f"idempotency_key {self.key!r} was used for another call.",
                reason="idempotency_key_reused",
                suggestions=["Use a new key for a new call; repeat a call unchanged."],
            )
        return kept_rows(kept, self.key or "", is_own=is_own)

    def _fingerprint(self) -> str:
        body = json.dumps([self.tool, self.items], sort_keys=True, default=str)
        return hashlib.sha256(body.encode()).hexdigest()


def kept_rows(kept: Kept, key: str, *, is_own: bool) -> list[View]:
    """Return a kept answer. Where nothing proves that it is the same caller, and the key could be
    anybody's, what only the first caller may know is left out."""
    views: list[View] = json.loads(kept.answer)
    if is_own or len(key) >= _UNGUESSABLE:
        return views
    return [{k: v for k, v in view.items() if k not in _SECRETS} for view in views]


def _views(
    relations: Relations, work: Work, shape: str | None, short: Mapping[str, str]
) -> list[View]:
    """Return the answer to each operation, in their order."""
    results = work.results
    present = {one.task_id: task for one in results if (task := work.draft.task(one.task_id))}
    is_short = shape == "compact" or (shape == "auto" and len(results) > _FULL_ROWS)
    is_large = shape is None and len(present) > _FULL_ANSWERS
    full = {one.task_id for one in results if one.in_full or not (is_large or is_short)}
    shown = [task for task_id, task in present.items() if task_id in full]
    most = WHOLE_RELATIONS if shape == "full" else SHOWN_RELATIONS
    views = {str(view["task_id"]): view for view in full_views(relations, shown, work.at, most)}
    if shape in ("auto", "compact"):
        in_full = [one for one in results if one.task_id in views and (one.in_full or not is_short)]
        beside = sum(budget.size(one.extra) for one in in_full)
        fitted = budget.fitted(
            [views[one.task_id] for one in in_full], beside, is_alone=len(results) == 1
        )
        views = {str(view["task_id"]): view for view in fitted}

    def view(one: Touched) -> View:
        task, short_id = present.get(one.task_id), short.get(one.task_id, one.task_id)
        if task is None:
            return deleted_view(short_id if is_short else one.task_id)
        if one.task_id in views and (one.in_full or not is_short):
            return views[one.task_id]
        return compact_view(task, short_id, one.event) if is_short else brief_view(task)

    return [{**view(one), **one.extra} for one in results]
