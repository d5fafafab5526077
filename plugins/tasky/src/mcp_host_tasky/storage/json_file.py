"""The JSON store: one file, read whole, written whole.

A task or an event is one line of the file, so that version control shows what changed, and so that
a process that meets another's write parses only the lines that are new to it. A write holds a lock
file, writes a new file beside the old one, makes it durable, and puts it in the old one's place.
"""

import json
import os
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from ..errors import Busy, Unavailable
from ..model import Change, Claim, Event, Found, Kept, Status, Summary, Task, Wanted
from .base import Changes, Guard, no_guard
from .sql import indexed, says
from .upgrade import Backup, old_tasks

VERSION = "2.0"
_WAIT_SECONDS = 25
_POLL_SECONDS = 0.003
_COUNTED = 10_000
_CHECK_EVERY = 2_000
_HEAD_BYTES = 200


@dataclass(slots=True)
class _Plan:
    """All that the file holds, as values and as lines. Once handed out it never changes; a write
    works on a copy."""

    tasks: dict[str, Task] = field(default_factory=dict)
    task_lines: dict[str, str] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    event_lines: dict[int, str] = field(default_factory=dict)
    answers: dict[str, Kept] = field(default_factory=dict)
    answer_lines: dict[str, str] = field(default_factory=dict)
    order: list[tuple[str, str]] = field(default_factory=list)
    waiting: dict[str, frozenset[str]] = field(default_factory=dict)
    subtasks: dict[str, frozenset[str]] = field(default_factory=dict)
    last_number: int = 0
    generation: int = 0
    created_at: str = ""
    updated_at: str = ""

    def copy(self) -> "_Plan":
        return _Plan(
            dict(self.tasks),
            dict(self.task_lines),
            dict(self.events),
            dict(self.event_lines),
            dict(self.answers),
            dict(self.answer_lines),
            list(self.order),
            dict(self.waiting),
            dict(self.subtasks),
            self.last_number,
            self.generation,
            self.created_at,
            self.updated_at,
        )

    def put(self, task: Task, line: str) -> None:
        self._unrelate(self.tasks.get(task.task_id))
        self.tasks[task.task_id] = task
        self.task_lines[task.task_id] = line
        insort(self.order, (task.sort_key, task.task_id))
        for blocker in task.blockers:
            self.waiting[blocker] = self.waiting.get(blocker, frozenset()) | {task.task_id}
        if task.subtask_of:
            children = self.subtasks.get(task.subtask_of, frozenset())
            self.subtasks[task.subtask_of] = children | {task.task_id}

    def drop(self, task_id: str) -> None:
        self._unrelate(self.tasks.pop(task_id))
        del self.task_lines[task_id]

    def put_event(self, event: Event, line: str) -> None:
        self.events[event.event_id] = event
        self.event_lines[event.event_id] = line

    def put_answer(self, kept: Kept, line: str) -> None:
        self.answers[kept.key] = kept
        self.answer_lines[kept.key] = line

    def drop_answer(self, key: str) -> None:
        del self.answers[key], self.answer_lines[key]

    def _unrelate(self, task: Task | None) -> None:
        if task is None:
            return
        del self.order[bisect_left(self.order, (task.sort_key, task.task_id))]
        for blocker in task.blockers:
            self.waiting[blocker] -= {task.task_id}
        if task.subtask_of:
            self.subtasks[task.subtask_of] -= {task.task_id}

    def text(self) -> str:
        head = {
            "version": VERSION,
            "generation": self.generation,
            "last_number": self.last_number,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        return "".join(
            [
                "{\n",
                "".join(f"{_dumps(key)}: {_dumps(value)},\n" for key, value in head.items()),
                '"tasks": {\n',
                ",\n".join(self.task_lines.values()),
                '\n},\n"events": [\n',
                ",\n".join(self.event_lines.values()),
                '\n],\n"answers": {\n',
                ",\n".join(self.answer_lines.values()),
                "\n}\n}\n",
            ]
        )


class JsonFile:
    """A plan in one JSON file. Writers take turns by a lock file; readers wait for nobody."""

    kind = "json"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._words: dict[str, tuple[Task, str]] = {}
        self._one_writer = threading.Lock()
        self._file_lock = FileLock(path.with_name(path.name + ".lock"), thread_local=False)
        # One value, so that threads that read at once never mix a plan with another's signature.
        self._state = (_Plan(), b"")
        with self._alone():
            self._prepare()

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator["JsonView"]:
        yield JsonView(self._current(), self._words, guard)

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator["JsonView"]:
        with self._alone():
            view = JsonView(self._current().copy(), self._words, guard)
            yield view
            guard()
            if view.changed:
                self._save(view.plan)

    def tidy(self) -> None:
        """Every write leaves the file tidy."""

    def close(self) -> None:
        """Nothing is held between calls."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._one_writer.acquire(timeout=_WAIT_SECONDS):
            raise _busy(self._path)
        try:
            try:
                self._file_lock.acquire(timeout=_WAIT_SECONDS, poll_interval=_POLL_SECONDS)
            except Timeout as error:
                raise _busy(self._path) from error
            except OSError as error:
                raise _unusable(self._path, error) from error
            try:
                yield
            finally:
                self._file_lock.release()
        finally:
            self._one_writer.release()

    def _prepare(self) -> None:
        if not self._path.exists() or self._path.stat().st_size == 0:
            self._save(_Plan())
        elif _version(self._path) == "1.0":
            Backup(self._path, "1.0").copy()
            self._save(_upgraded(self._path))
        else:
            self._current()

    def _current(self) -> _Plan:
        """Return the plan as the file holds it now."""
        try:
            with self._path.open("rb") as file:
                known, seen = self._state
                now = _signature(file)
                if now != seen:
                    known = _read(file.read().decode(), known, self._path)
                    self._state = (known, now)
                return known
        except OSError as error:
            raise _unusable(self._path, error) from error
        except UnicodeDecodeError as error:
            raise _corrupt(self._path, "it is not UTF-8") from error

    def _save(self, plan: _Plan) -> None:
        plan.generation += 1
        temporary = self._path.with_name(self._path.name + ".tmp")
        try:
            with temporary.open("wb") as file:
                file.write(plan.text().encode())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _unusable(self._path, error) from error
        with self._path.open("rb") as file:
            self._state = (plan, _signature(file))


class JsonView:
    """A reading, or a writing on a copy, of the plan."""

    def __init__(self, plan: _Plan, words: dict[str, tuple[Task, str]], guard: Guard) -> None:
        self.plan = plan
        self.changed = False
        self._words = words
        self._guard = guard

    def ids_from(self, prefix: str, limit: int) -> list[str]:
        return sorted(key for key in self.plan.tasks if key.startswith(prefix))[:limit]

    def tasks(self, ids: Collection[str]) -> dict[str, Task]:
        kept = self.plan.tasks
        return {task_id: kept[task_id] for task_id in ids if task_id in kept}

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        found = {task_id: self.plan.waiting.get(task_id) for task_id in ids}
        return {task_id: sorted(waiting) for task_id, waiting in found.items() if waiting}

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        found = {task_id: self.plan.subtasks.get(task_id) for task_id in ids}
        return {task_id: sorted(children) for task_id, children in found.items() if children}

    def open_among(self, ids: Collection[str]) -> set[str]:
        return {task_id for task_id, task in self.tasks(ids).items() if task.is_open}

    def upstream(self, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        ahead = list(ids)
        while ahead:
            task = self.plan.tasks.get(ahead.pop())
            if task and task.blockers and task.task_id not in found:
                found[task.task_id] = task.blockers
                ahead.extend(task.blockers)
        return found

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        start = bisect_right(self.plan.order, (after, "~")) if after else 0
        rows: list[Summary] = []
        for task in self._matches(wanted, start):
            rows.append(_summary(task, bool(wanted.words)))
            if len(rows) > limit:
                break
        return Found(rows, self._total(wanted) if count else 0)

    def _total(self, wanted: Wanted) -> int:
        if wanted.only_status and not wanted.status:
            return len(self.plan.tasks)
        total = sum(1 for _ in self._matches(wanted, 0))
        return min(total, _COUNTED) if wanted.words else total

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
        return not wanted.words or self._says(task, wanted.words)

    def _is_ready(self, task: Task, wanted: Wanted) -> bool:
        if not task.is_open or self.open_among(task.blockers):
            return False
        claim = task.claim
        return claim is None or claim.until <= wanted.now or claim.claimant == wanted.ready_for

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

    def last_batch(self, caller: str) -> int | None:
        for event in reversed(self.plan.events.values()):
            if event.caller == caller and event.can_be_undone and event.undone_by is None:
                return event.batch
        return None

    def kept(self, key: str) -> Kept | None:
        return self.plan.answers.get(key)

    def every_task(self) -> Iterator[Task]:
        yield from sorted(self.plan.tasks.values(), key=lambda task: task.number)

    def every_event(self) -> Iterator[Event]:
        yield from self.plan.events.values()

    def apply(self, changes: Changes) -> None:
        plan = self.plan
        self.changed = True
        for before, after in changes.tasks:
            if after:
                plan.put(after, _task_line(after))
                plan.last_number = max(plan.last_number, after.number)
            elif before:
                plan.drop(before.task_id)
        plan.last_number = max(plan.last_number, changes.last_number)
        for event in changes.events:
            plan.put_event(event, _event_line(event))
            plan.updated_at = event.at
            plan.created_at = plan.created_at or event.at
        for event_id, by in changes.undone.items():
            undone = _undone(plan.events[event_id], by)
            plan.put_event(undone, _event_line(undone))
        for kept in list(plan.answers.values()):
            if kept.at < changes.forget_kept_before:
                plan.drop_answer(kept.key)
        if changes.kept:
            plan.put_answer(changes.kept, _answer_line(changes.kept))


def _read(text: str, known: _Plan, path: Path) -> _Plan:
    """Read the file's text, taking from `known` what stands in both."""
    try:
        sections = _split(text)
        if sections is not None:
            return _from_lines(*sections, known)
        return _from_data(json.loads(text), path)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _corrupt(path, str(error)) from error


def _split(text: str) -> tuple[dict[str, Any], list[str], list[str], list[str]] | None:
    """Cut our own layout into head, tasks, events and answers; None for any other layout."""
    lines = text.split("\n")
    try:
        tasks = lines.index('"tasks": {')
        events = lines.index('"events": [', tasks)
        answers = lines.index('"answers": {', events)
    except ValueError:
        return None
    tail = ["}", "}", ""]
    if lines[0] != "{" or lines[events - 1] != "}," or lines[answers - 1] != "],":
        return None
    if lines[-3:] != tail:
        return None
    head = json.loads("{" + "".join(lines[1:tasks]).removesuffix(",") + "}")
    if head.get("version") != VERSION:
        return None
    return (
        head,
        _items(lines[tasks + 1 : events - 1]),
        _items(lines[events + 1 : answers - 1]),
        _items(lines[answers + 1 : -3]),
    )


def _items(lines: list[str]) -> list[str]:
    """Return the lines without the commas between them; an empty section is one empty line."""
    if lines == [""]:
        return []
    if any(not line.endswith(",") for line in lines[:-1]):
        raise ValueError("a comma between two items is missing")
    return [line[:-1] for line in lines[:-1]] + lines[-1:]


def _from_lines(
    head: dict[str, Any], tasks: list[str], events: list[str], answers: list[str], known: _Plan
) -> _Plan:
    plan = known.copy()
    plan.last_number, plan.generation = head["last_number"], head["generation"]
    plan.created_at, plan.updated_at = head["created_at"], head["updated_at"]
    present = set()
    for line in tasks:
        key = line[1:37]
        if plan.task_lines.get(key) != line:
            key, data = _pair(line)
            plan.put(_task_of(data), line)
        present.add(key)
    for gone in plan.tasks.keys() - present:
        plan.drop(gone)
    old = list(plan.event_lines.values())
    if len(events) < len(old):
        plan.events, plan.event_lines, old = {}, {}, []
    for number, line in enumerate(events):
        if number >= len(old) or old[number] != line:
            plan.put_event(_event_of(json.loads(line)), line)
    plan.answers, plan.answer_lines = {}, {}
    for line in answers:
        key, data = _pair(line)
        plan.put_answer(Kept(key, data["fingerprint"], data["answer"], data["at"]), line)
    return plan


def _pair(line: str) -> tuple[str, dict[str, Any]]:
    ((key, value),) = json.loads("{" + line + "}").items()
    return key, value


def _from_data(data: dict[str, Any], path: Path) -> _Plan:
    """Read a file of our format in somebody else's layout."""
    if data.get("version") != VERSION:
        raise Unavailable(
            f"{path} has format {data.get('version')!r}; this Tasky reads 1.0 and {VERSION}.",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    plan = _Plan(
        last_number=data["last_number"],
        generation=data["generation"],
        created_at=data["created_at"],
        updated_at=data["updated_at"],
    )
    for task in map(_task_of, data["tasks"].values()):
        plan.put(task, _task_line(task))
    for event in map(_event_of, data["events"]):
        plan.put_event(event, _event_line(event))
    for key, kept in data["answers"].items():
        answer = Kept(key, kept["fingerprint"], kept["answer"], kept["at"])
        plan.put_answer(answer, _answer_line(answer))
    return plan


def _version(path: Path) -> object:
    """Return the format that the file names; a file that is no JSON object is refused."""
    text = path.read_bytes()
    if text.startswith(b'{\n"version": "2.0",'):
        return VERSION
    try:
        data = json.loads(text)
        return data["version"] if "tasks" in data else None
    except (ValueError, KeyError, TypeError) as error:
        raise _corrupt(path, str(error)) from error


def _upgraded(path: Path) -> _Plan:
    data = json.loads(path.read_bytes())
    plan = _Plan(created_at=str(data.get("created_at", "")))
    for task in old_tasks(data["tasks"].values(), str(path)):
        plan.put(task, _task_line(task))
        plan.last_number = task.number
        plan.updated_at = max(plan.updated_at, task.updated_at)
    return plan


def _task_line(task: Task) -> str:
    data: dict[str, Any] = {
        "task_id": task.task_id,
        "name": task.name,
        "details": task.details,
        "status": task.status.value,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "number": task.number,
        "priority": task.priority,
        "revision": task.revision,
        "last_event": task.last_event,
    }
    rest = {
        "due_date": task.due_date,
        "due_at": task.due_at,
        "tags": task.tags,
        "blockers": task.blockers,
        "subtask_of": task.subtask_of,
        "claim": asdict(task.claim) if task.claim else None,
    }
    data.update({key: value for key, value in rest.items() if value})
    return f"{_dumps(task.task_id)}: {_dumps(data)}"


def _task_of(data: dict[str, Any]) -> Task:
    claim = data.get("claim")
    return Task(
        task_id=data["task_id"],
        number=data["number"],
        name=data["name"],
        details=data["details"],
        status=Status(data["status"]),
        priority=data["priority"],
        due_date=data.get("due_date"),
        due_at=data.get("due_at"),
        tags=tuple(data.get("tags", ())),
        blockers=tuple(data.get("blockers", ())),
        subtask_of=data.get("subtask_of"),
        created_at=data["created_at"],
        updated_at=data["updated_at"],
        revision=data["revision"],
        last_event=data["last_event"],
        claim=Claim(**claim) if claim else None,
    )


def _event_line(event: Event) -> str:
    data = asdict(event)
    # asdict takes named tuples apart and builds them anew; JSON needs neither.
    data["changes"] = event.changes
    return _dumps(data)


def _event_of(data: dict[str, Any]) -> Event:
    changes = {key: Change(*pair) for key, pair in data["changes"].items()}
    return Event(**{**data, "changes": changes})


def _answer_line(kept: Kept) -> str:
    data = {"fingerprint": kept.fingerprint, "answer": kept.answer, "at": kept.at}
    return f"{_dumps(kept.key)}: {_dumps(data)}"


def _undone(event: Event, by: int) -> Event:
    return Event(**{**_shallow(event), "undone_by": by})


def _shallow(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__slots__}


def _summary(task: Task, with_details: bool) -> Summary:
    return Summary(
        task.task_id,
        task.name,
        task.status,
        task.priority,
        task.due_date,
        task.sort_key,
        task.details if with_details else None,
    )


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _signature(file: BinaryIO) -> bytes:
    """Return what tells one state of the file from another, and rewind.

    The head holds the generation, which every write raises: inode, size and time alone may repeat
    within one tick of the clock. They see what an editor changes.
    """
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    state = os.fstat(file.fileno())
    return head + f"|{state.st_ino}|{state.st_size}|{state.st_mtime_ns}".encode()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle of a folder to make durable
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _busy(path: Path) -> Busy:
    return Busy(
        f"Another process has been writing to {path.name} for {_WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )


def _corrupt(path: Path, why: str) -> Unavailable:
    return Unavailable(
        f"{path} is not an intact JSON plan ({why}); it was left as it is.",
        reason="corrupt_store",
        suggestions=["Put a backup in its place, or move it away and run: tasky project init"],
    )


def _unusable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"{path} cannot be used: {error.strerror}.", reason="store_unusable")
