"""One writing call: its key is honoured, it is tried whole, then kept whole or not at all."""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from ..errors import Busy, Conflict, Stopped, TaskyError, Unavailable, failed_items
from ..model import Kept
from ..model.dates import micros, seconds
from ..storage import Changes, Guard, Store
from . import inputs
from .asked import Caller
from .draft import Draft, Stamp
from .plan import Plan
from .views import Relations, View, brief_view, deleted_view, full_views

_ANSWERS_KEPT = timedelta(days=7)
# A call that touches more tasks than this is answered with short rows.
_FULL_ANSWERS = 200


@dataclass(slots=True)
class Collecting:
    """Keeps an item's refusal, by its index, and lets the work go on with the next item."""

    failures: dict[int, TaskyError]
    index: int

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        about_item = isinstance(error, TaskyError) and not isinstance(
            error, (Busy, Stopped, Unavailable)
        )
        if about_item:
            assert isinstance(error, TaskyError)
            self.failures.setdefault(self.index, error)
        return about_item


@dataclass(slots=True)
class Work:
    """A call's work: the draft that it changes, who asks, when, and how the items fared.

    `results` names the touched task of each operation, and what its answer says besides the task.
    """

    draft: Draft
    plan: Plan
    caller: Caller
    at: datetime
    new_id: Callable[[], uuid.UUID]
    failures: dict[int, TaskyError] = field(default_factory=dict)
    results: list[tuple[str, View]] = field(default_factory=list)
    moment: str = field(init=False)
    """This moment, to the microsecond: when the call's changes are made."""

    def __post_init__(self) -> None:
        self.moment = micros(self.at)

    @property
    def now(self) -> str:
        """This moment, to the second."""
        return seconds(self.at)

    def item(self, index: int) -> Collecting:
        return Collecting(self.failures, index)

    def stamp(self, index: int, agent: str | None = None) -> Stamp:
        return Stamp(self.moment, self.caller.identity(agent), index)

    def touched(self, task_id: str, extra: Mapping[str, str | None] | None = None) -> None:
        said: View = {name: value for name, value in (extra or {}).items() if value is not None}
        self.results.append((task_id, said))


Begin: TypeAlias = Callable[[Draft], Work]


@dataclass(frozen=True, slots=True)
class Write:
    """A call of a tool with its items. `noun` is what an item is called in errors."""

    tool: str
    noun: str
    items: list[object]
    key: str | None = None
    dry_run: bool = False

    def run(
        self, store: Store, begin: Begin, do: Callable[[Work], None], guard: Guard
    ) -> list[View]:
        """Do the work on the store and return what it answers."""
        inputs.key(self.key)
        if self.dry_run:
            with store.read(guard) as reading:
                work = self._worked(begin(Draft(reading)), do)
                views = _views(work.draft, work)
                return [{**view, "dry_run": True} for view in views]
        with store.write(guard) as writing:
            if self.key and (kept := writing.kept(self.key)):
                return self._original(kept)
            work = self._worked(begin(Draft(writing)), do)
            changes = work.draft.changes
            if changes.tasks or changes.events:
                writing.apply(changes)
            views = _views(writing, work)
            if self.key:
                writing.apply(self._keep(self.key, views, work.at))
        return views

    def _worked(self, work: Work, do: Callable[[Work], None]) -> Work:
        do(work)
        if work.failures:
            raise failed_items(work.failures, len(self.items), self.noun)
        return work

    def _keep(self, key: str, views: list[View], at: datetime) -> Changes:
        kept = Kept(key, self._fingerprint(), json.dumps(views), micros(at))
        return Changes(kept=kept, forget_kept_before=micros(at - _ANSWERS_KEPT))

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


def _views(relations: Relations, work: Work) -> list[View]:
    present = {key: task for key, _ in work.results if (task := work.draft.task(key))}
    if len(present) > _FULL_ANSWERS:
        views = {key: brief_view(task) for key, task in present.items()}
    else:
        shown = full_views(relations, list(present.values()), work.now)
        views = {str(view["task_id"]): view for view in shown}
    return [{**views.get(key, deleted_view(key)), **extra} for key, extra in work.results]
