"""All that a JSON plan holds, as values and as texts of its files.

The tasks are what is shared and merged: a file each (`json_task`). What stands beside them belongs
to this machine: events, answers to keys, counters, and what is known of each task's last change. It
is one file, a line for each, so that a process that meets another's write parses what is new.
"""

import json
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import UnavailableError
from ..model import Change, Claim, Event, Kept, Task
from .json_task import TaskState, conflicted, corrupt, dumps, is_conflicted, task_of
from .upgrade import old_tasks

VERSION = "3.0"


@dataclass(slots=True)
class JsonPlan:
    """The values of a plan, and the lines of what stands beside its tasks. Once handed out it never
    changes; a write works on a copy.

    Invariants: `order` has every task once, by its place in lists. `waiting` and `subtasks` are the
    blockers and parents of `tasks`, seen from the other end. `events` and `event_lines` have the
    same keys in the same order, and so have `answers` and `answer_lines`. No task has a `number`
    above `last_number`.
    """

    tasks: dict[str, Task] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    states: dict[str, TaskState] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    event_lines: dict[int, str] = field(default_factory=dict)
    answers: dict[str, Kept] = field(default_factory=dict)
    answer_lines: dict[str, str] = field(default_factory=dict)
    order: list[tuple[str, str]] = field(default_factory=list)
    waiting: dict[str, frozenset[str]] = field(default_factory=dict)
    subtasks: dict[str, frozenset[str]] = field(default_factory=dict)
    last_number: int = 0
    generation: int = 0

    def copy(self) -> "JsonPlan":
        return JsonPlan(
            dict(self.tasks),
            dict(self.texts),
            dict(self.states),
            dict(self.events),
            dict(self.event_lines),
            dict(self.answers),
            dict(self.answer_lines),
            list(self.order),
            dict(self.waiting),
            dict(self.subtasks),
            self.last_number,
            self.generation,
        )

    def put(self, task: Task) -> None:
        self._unrelate(self.tasks.get(task.task_id))
        self.tasks[task.task_id] = task
        self.last_number = max(self.last_number, task.number)
        insort(self.order, (task.sort_key, task.task_id))
        for blocker in task.blockers:
            self.waiting[blocker] = self.waiting.get(blocker, frozenset()) | {task.task_id}
        if task.subtask_of:
            children = self.subtasks.get(task.subtask_of, frozenset())
            self.subtasks[task.subtask_of] = children | {task.task_id}

    def drop(self, task_id: str) -> None:
        self._unrelate(self.tasks.pop(task_id))
        self.texts.pop(task_id, None)

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

    def local_text(self) -> str:
        """Return the file of what stands beside the tasks."""
        head = {
            "version": VERSION,
            "generation": self.generation,
            "last_number": self.last_number,
        }
        # Ids, times and digests have nothing to escape: thousands of these are written each time.
        states = (
            f'"{key}": [{state.revision},"{state.updated_at}",{state.last_event},"{state.digest}"]'
            for key, state in self.states.items()
        )
        return "".join(
            [
                "{\n",
                "".join(f"{dumps(key)}: {dumps(value)},\n" for key, value in head.items()),
                '"states": {\n',
                ",\n".join(states),
                '\n},\n"events": [\n',
                ",\n".join(self.event_lines.values()),
                '\n],\n"answers": {\n',
                ",\n".join(self.answer_lines.values()),
                "\n}\n}\n",
            ]
        )

    def read_local(self, text: str, path: Path) -> None:
        """Take in the file of what stands beside the tasks; lines that are known are not parsed."""
        try:
            head, states, events, answers = _sections(text)
            self.last_number = max(self.last_number, head["last_number"])
            self.generation = head["generation"]
            pairs = json.loads("{" + ",".join(states) + "}")
            self.states = {key: TaskState(*state) for key, state in pairs.items()}
            self._read_events(events)
            self.answers, self.answer_lines = {}, {}
            for line in answers:
                key, data = _pair(line)
                self.put_answer(Kept(key, data["fingerprint"], data["answer"], data["at"]), line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise corrupt(path, str(error)) from error

    def _read_events(self, lines: list[str]) -> None:
        known = list(zip(self.event_lines.values(), self.events.values(), strict=True))
        self.events, self.event_lines = {}, {}
        for number, line in enumerate(lines):
            is_known = number < len(known) and known[number][0] == line
            self.put_event(known[number][1] if is_known else _event_of(json.loads(line)), line)


def _sections(text: str) -> tuple[dict[str, Any], list[str], list[str], list[str]]:
    """Cut the layout of `local_text` into head, states, events and answers."""
    lines = text.split("\n")
    states = lines.index('"states": {')
    events = lines.index('"events": [', states)
    answers = lines.index('"answers": {', events)
    if lines[-3:] != ["}", "}", ""]:
        raise ValueError("it does not end as it should")
    head = json.loads("{" + "".join(lines[1:states]).removesuffix(",") + "}")
    return (
        head,
        _items(lines[states + 1 : events - 1]),
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


def _pair(line: str) -> tuple[str, dict[str, Any]]:
    ((key, value),) = json.loads("{" + line + "}").items()
    return key, value


# The head: which format, and where the tasks are


def head_text(folder: str) -> str:
    """Return the file that a plan is known by: it never changes, so that nothing conflicts."""
    return dumps({"version": VERSION, "tasks": folder}) + "\n"


def read_head(path: Path) -> dict[str, Any]:
    """Return the head of a plan, or all of a plan of an older format."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise corrupt(path, "it is not UTF-8") from error
    if is_conflicted(text):
        raise conflicted(path)
    if not text:
        raise corrupt(path, "it is empty")
    try:
        data = json.loads(text)
        version, tasks = data["version"], data["tasks"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise corrupt(path, str(error)) from error
    if version == VERSION and (not isinstance(tasks, str) or Path(tasks).name != tasks):
        raise corrupt(path, "tasks must be the name of a folder beside it")
    if version not in (VERSION, "2.0", "1.0"):
        raise UnavailableError(
            f"{path} has format {version!r}; this Tasky reads 1.0, 2.0 and {VERSION}.",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    return dict(data)


def older_plan(data: Mapping[str, Any], path: Path) -> JsonPlan:
    """Return the plan of a file of an older format, in which all stood in one."""
    try:
        return _plan_1(data, path) if data["version"] == "1.0" else _plan_2(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise corrupt(path, str(error)) from error


def _plan_1(data: Mapping[str, Any], path: Path) -> JsonPlan:
    plan = JsonPlan()
    for task in old_tasks(data["tasks"].values(), str(path)):
        plan.put(task)
    return plan


def _plan_2(data: Mapping[str, Any]) -> JsonPlan:
    plan = JsonPlan(last_number=data["last_number"], generation=data["generation"])
    for one in data["tasks"].values():
        claim = one.get("claim")
        task = task_of(one)
        plan.put(
            replace(
                task,
                updated_at=one["updated_at"],
                revision=one["revision"],
                last_event=one["last_event"],
                claim=Claim(**claim) if claim else None,
                claims=one.get("claims", 0),
            )
        )
    for one in data["events"]:
        event = _event_of(one)
        plan.put_event(event, event_line(event))
    for key, kept in data["answers"].items():
        answer = Kept(key, kept["fingerprint"], kept["answer"], kept["at"])
        plan.put_answer(answer, answer_line(answer))
    return plan


def event_line(event: Event) -> str:
    data = asdict(event)
    # asdict takes named tuples apart and builds them anew; JSON needs neither.
    data["changes"] = event.changes
    return dumps(data)


def _event_of(data: dict[str, Any]) -> Event:
    changes = {key: Change(*pair) for key, pair in data["changes"].items()}
    # Before 0.1.0 an event said no more of its caller than the name.
    return Event(**{"actor": data["caller"], **data, "changes": changes})


def answer_line(kept: Kept) -> str:
    data = {"fingerprint": kept.fingerprint, "answer": kept.answer, "at": kept.at}
    return f"{dumps(kept.key)}: {dumps(data)}"
