"""Reading and writing a JSON plan that is in memory."""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from ..model import Claim, Event, Found, Kept, Members, Status, Summary, Task, Wanted
from .json_plan import JsonPlan, answer_line, event_line
from .sql import indexed, says
from .store import COUNTED, SHORT_IDS, Changes, Guard

_CHECK_EVERY = 2_000


class JsonView:
    """A reading, or a writing on a copy, of the plan."""

    def __init__(self, plan: JsonPlan, words: dict[str, tuple[Task, str]], guard: Guard) -> None:
        self.plan = plan
        self.changed = False
        self.touched: set[str] = set()
        self._words = words
        self._guard = guard
        self._holding: dict[str, bool] = {}

    def now(self) -> datetime:
        return datetime.now(UTC)

    def ids_from(self, prefix: str, limit: int) -> list[str]:
        return sorted(key for key in self.plan.tasks if key.startswith(prefix))[:limit]

    def past_ids_from(self, prefix: str, limit: int) -> list[str]:
        known = {event.task_id for event in self.plan.events.values()}
        return sorted(key for key in known if key.startswith(prefix))[:limit]

    def whole_ids(self, beginnings: Collection[str]) -> dict[str, str]:
        wanted = set(beginnings)
        lengths = {len(one) for one in wanted}
        met = [(key[:size], key) for key in self.plan.tasks for size in lengths]
        found = [(said, key) for said, key in met if said in wanted]
        times = Counter(said for said, _ in found)
        return {said: key for said, key in found if times[said] == 1}

    def short_ids(self, ids: Collection[str]) -> dict[str, str]:
        found = {task_id: task_id for task_id in ids}
        left = list(found)
        for length in SHORT_IDS:
            if not left:
                break
            counts = Counter(task_id[:length] for task_id in self.plan.tasks)
            found |= {one: one[:length] for one in left if counts[one[:length]] < 2}
            left = [one for one in left if counts[one[:length]] > 1]
        return found

    def tasks(self, ids: Collection[str]) -> dict[str, Task]:
        kept = self.plan.tasks
        return {task_id: kept[task_id] for task_id in ids if task_id in kept}

    def details(self, ids: Collection[str]) -> dict[str, str]:
        return {task_id: task.details for task_id, task in self.tasks(ids).items()}

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        found = {task_id: self.plan.waiting.get(task_id) for task_id in ids}
        return {task_id: sorted(waiting) for task_id, waiting in found.items() if waiting}

    def first_waiting(self, ids: Collection[str], most: int) -> dict[str, Members]:
        return {one: Members.of(others, most) for one, others in self.waiting(ids).items()}

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        found = {task_id: self.plan.subtasks.get(task_id) for task_id in ids}
        return {task_id: sorted(children) for task_id, children in found.items() if children}

    def first_subtasks(self, ids: Collection[str], most: int) -> dict[str, Members]:
        return {one: Members.of(parts, most) for one, parts in self.subtasks(ids).items()}

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for task_id, task in sorted(self.plan.tasks.items()) if ids else ():
            origin = task.discovered_from
            if origin is not None and origin in ids:
                found.setdefault(origin, []).append(task_id)
        return found

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for task_id in ids:
            still = sorted(self.open_among(self.plan.waiting.get(task_id, ())))[:limit]
            limit -= len(still)
            if still:
                found[task_id] = still
        return found

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        found = []
        for task in self._matches(wanted, 0):
            count = len(self.open_among(self.plan.waiting.get(task.task_id, ())))
            found.append(replace(_summary(task, wanted), unblocks=count, details=None))
        found.sort(key=lambda row: (-row.unblocks, row.sort_key))
        if after:
            start = (-after[0], after[1])
            found = [row for row in found if (-row.unblocks, row.sort_key) > start]
        return found[:limit]

    def open_among(self, ids: Collection[str]) -> set[str]:
        return {task_id for task_id, task in self.tasks(ids).items() if task.is_open}

    def parents(self, ids: Collection[str]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for one in ids:
            here: str | None = one
            while here and here not in found and (task := self.plan.tasks.get(here)):
                found[here] = task.subtask_of
                here = task.subtask_of
        return found

    def upstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        def blockers(task_id: str) -> tuple[str, ...]:
            task = self.plan.tasks.get(task_id)
            return task.blockers if task else ()

        return _stream(ids, limit, blockers)

    def downstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        return _stream(ids, limit, lambda one: tuple(sorted(self.plan.waiting.get(one, ()))))

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        start = bisect_right(self.plan.order, (after, "~")) if after else 0
        rows: list[Summary] = []
        for task in self._matches(wanted, start):
            rows.append(_summary(task, wanted))
            if len(rows) > limit:
                break
        total = self._total(wanted) if count else 0
        is_cut = total > COUNTED and not wanted.only_status
        return Found(rows, COUNTED if is_cut else total, is_cut)

    def _total(self, wanted: Wanted) -> int:
        if wanted.only_status and not wanted.status:
            return len(self.plan.tasks)
        if wanted.only_status and wanted.status:
            return self.counts()[wanted.status]
        return sum(1 for _ in islice(self._matches(wanted, 0), COUNTED + 1))

    def _matches(self, wanted: Wanted, start: int) -> Iterator[Task]:
        for position in range(start, len(self.plan.order)):
            if position % _CHECK_EVERY == 0:
                self._guard()
            task = self.plan.tasks[self.plan.order[position][1]]
            if self._fits(task, wanted):
                yield task

    def _fits(self, task: Task, wanted: Wanted) -> bool:
        if wanted.status and task.status is not wanted.status:
            return False
        if wanted.priority and task.priority != wanted.priority:
            return False
        if wanted.created_after and task.created_at <= wanted.created_after:
            return False
        if wanted.due_until and (task.due_at is None or task.due_at > wanted.due_until):
            return False
        if not set(wanted.tags).issubset(task.tags):
            return False
        if wanted.ready_for is not None and not self._is_ready(task, wanted):
            return False
        claim = _live(task, wanted)
        if wanted.claimed_by is not None and (not claim or claim.claimant != wanted.claimed_by):
            return False
        if wanted.held_by is not None and not _is_holder(claim, wanted.held_by):
            return False
        if wanted.held and claim is None:
            return False
        if wanted.waiting and not self._is_waiting(task):
            return False
        return not wanted.words or self._says(task, wanted.words)

    def _is_ready(self, task: Task, wanted: Wanted) -> bool:
        if not task.is_open or self._is_waiting(task):
            return False
        claim = _live(task, wanted)
        return claim is None or (claim.holder != "" and claim.holder == wanted.ready_for)

    def _is_waiting(self, task: Task) -> bool:
        if not task.is_open:
            return False
        if self.open_among(task.blockers):
            return True
        return task.subtask_of is not None and self._holds_up(task.subtask_of)

    def _holds_up(self, task_id: str) -> bool:
        """Whether a task, or one that it is part of, waits for one that is not part of it; a
        parent may wait for its own parts."""
        chain: dict[str, None] = {}
        here: str | None = task_id
        is_holding = False
        while here and here not in chain:  # a merge may have tied a tree into a circle
            if here in self._holding:
                is_holding = self._holding[here]
                break
            chain[here] = None
            task = self.plan.tasks.get(here)
            if task and task.is_open and self._waits_outside(task):
                is_holding = True
                break
            here = task.subtask_of if task else None
        self._holding |= dict.fromkeys(chain, is_holding)
        return is_holding

    def _waits_outside(self, task: Task) -> bool:
        for blocker in self.open_among(task.blockers):
            above: str | None = blocker
            seen: set[str] = set()
            while above and above not in seen and above != task.task_id:
                seen.add(above)
                inner = self.plan.tasks.get(above)
                above = inner.subtask_of if inner else None
            if above != task.task_id:
                return True
        return False

    def _says(self, task: Task, words: tuple[str, ...]) -> bool:
        known = self._words.get(task.task_id)
        if known is None or known[0] is not task:
            known = (task, indexed(task))
            self._words[task.task_id] = known
        return says(known[1], words)

    def counts(self) -> dict[Status, int]:
        counts = dict.fromkeys(Status, 0)
        for task in self.plan.tasks.values():
            counts[task.status] += 1
        return counts

    def last_number(self) -> int:
        return self.plan.last_number

    def last_event(self) -> int:
        return next(reversed(self.plan.events), 0)

    def events(
        self, *, task_id: str | None = None, after: int = 0, before: int | None = None, limit: int
    ) -> list[Event]:
        found: list[Event] = []
        for event in reversed(self.plan.events.values()):
            if event.event_id <= after or len(found) == limit:
                break
            if before is not None and event.event_id >= before:
                continue
            if task_id is None or event.task_id == task_id:
                found.append(event)
        return found

    def events_by_id(self, ids: Collection[int]) -> dict[int, Event]:
        return {key: self.plan.events[key] for key in ids if key in self.plan.events}

    def batch(self, batch: int) -> list[Event]:
        found: list[Event] = []
        # Event ids follow each other, and a batch is named after its first.
        while (event := self.plan.events.get(batch + len(found))) and event.batch == batch:
            found.append(event)
        return found

    def last_batch(self, actor: str) -> int | None:
        for event in reversed(self.plan.events.values()):
            if event.actor == actor and event.can_be_undone and event.undone_by is None:
                return event.batch
        return None

    def kept(self, key: str) -> Kept | None:
        return self.plan.answers.get(key)

    def every_task(self, *, mends: bool = False) -> Iterator[Task]:
        number = 0
        for task in sorted(self.plan.tasks.values(), key=_creation):
            number = max(number + 1, task.number)  # two branches may have counted to the same
            yield task if task.number == number else replace(task, number=number)

    def every_event(self, *, mends: bool = False) -> Iterator[Event]:
        yield from self.plan.events.values()

    def every_kept(self) -> Iterator[Kept]:
        yield from self.plan.answers.values()

    def apply(self, changes: Changes) -> None:
        plan = self.plan
        self.changed = True
        self._holding.clear()
        for before, after in changes.tasks:
            if after:
                plan.put(after)
                self.touched.add(after.task_id)
            elif before:
                plan.drop(before.task_id)
                self.touched.add(before.task_id)
        plan.last_number = max(plan.last_number, changes.last_number)
        for event in changes.events:
            plan.put_event(event, event_line(event))
        for event_id, by in changes.undone.items():
            undone = replace(plan.events[event_id], undone_by=by)
            plan.put_event(undone, event_line(undone))
        for beginning, limit in changes.forget:
            for known in list(plan.answers.values()):
                if known.key.startswith(beginning) and known.at < limit:
                    plan.drop_answer(known.key)
        for kept in changes.kept:
            plan.put_answer(kept, answer_line(kept))


def _creation(task: Task) -> tuple[int, str, str]:
    return task.number, task.created_at, task.task_id


def _stream(
    ids: Collection[str], limit: int, following: Callable[[str], tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return what follows each of these, what follows that, and so on, the nearest first."""
    found: dict[str, tuple[str, ...]] = {}
    met = dict.fromkeys(ids)
    ahead = deque(met)
    while ahead and len(found) < max(limit, len(ids)):
        here = ahead.popleft()
        found[here] = following(here)
        new = [one for one in found[here] if one not in met]
        met.update(dict.fromkeys(new))
        ahead.extend(new)
    return found


def _summary(task: Task, wanted: Wanted) -> Summary:
    claim = _live(task, wanted)
    return Summary.of(
        task,
        details=task.details if wanted.words else None,
        claimed_by=claim.claimant if claim else None,
    )


def _live(task: Task, wanted: Wanted) -> Claim | None:
    claim = task.claim
    return claim if claim and wanted.now < claim.until <= wanted.latest_lease else None


def _is_holder(claim: Claim | None, key: str) -> bool:
    """Whether a claim is of the actor with this key, or of one of its agents."""
    return claim is not None and f"{claim.holder}/".startswith(f"{key}/")
