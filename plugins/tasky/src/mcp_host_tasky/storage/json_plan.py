"""All that a JSON plan holds, as values and as the lines of its file.

A task or an event is one line of the file, so that version control shows what changed, and so that
a process that meets another's write parses only the lines that are new to it.
"""

import json
from bisect import bisect_left, insort
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Unavailable
from ..model import Change, Claim, Event, Kept, Status, Task
from .upgrade import old_tasks

VERSION = "2.0"


@dataclass(slots=True)
class JsonPlan:
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

    def copy(self) -> "JsonPlan":
        return JsonPlan(
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


def read_plan(text: str, known: JsonPlan, path: Path) -> JsonPlan:
    """Read the file's text, taking from `known` what stands in both."""
    try:
        sections = _split(text)
        if sections is not None:
            return _from_lines(*sections, known)
        return _from_data(json.loads(text), path)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise corrupt(path, str(error)) from error


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
    head: dict[str, Any], tasks: list[str], events: list[str], answers: list[str], known: JsonPlan
) -> JsonPlan:
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
    known_events = list(zip(known.event_lines.values(), known.events.values(), strict=True))
    plan.events, plan.event_lines = {}, {}
    for number, line in enumerate(events):
        is_known = number < len(known_events) and known_events[number][0] == line
        event = known_events[number][1] if is_known else _event_of(json.loads(line))
        plan.put_event(event, line)
    plan.answers, plan.answer_lines = {}, {}
    for line in answers:
        key, data = _pair(line)
        plan.put_answer(Kept(key, data["fingerprint"], data["answer"], data["at"]), line)
    return plan


def _pair(line: str) -> tuple[str, dict[str, Any]]:
    ((key, value),) = json.loads("{" + line + "}").items()
    return key, value


def _from_data(data: dict[str, Any], path: Path) -> JsonPlan:
    """Read a file of our format in somebody else's layout."""
    if data.get("version") != VERSION:
        raise Unavailable(
            f"{path} has format {data.get('version')!r}; this Tasky reads 1.0 and {VERSION}.",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    plan = JsonPlan(
        last_number=data["last_number"],
        generation=data["generation"],
        created_at=data["created_at"],
        updated_at=data["updated_at"],
    )
    for task in map(_task_of, data["tasks"].values()):
        plan.put(task, task_line(task))
    for event in map(_event_of, data["events"]):
        plan.put_event(event, event_line(event))
    for key, kept in data["answers"].items():
        answer = Kept(key, kept["fingerprint"], kept["answer"], kept["at"])
        plan.put_answer(answer, answer_line(answer))
    return plan


def version_of(path: Path) -> object:
    """Return the format that the file names; a file that is no JSON object is refused."""
    text = path.read_bytes()
    if text.startswith(b'{\n"version": "2.0",'):
        return VERSION
    try:
        data = json.loads(text)
        return data["version"] if "tasks" in data else None
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(path, str(error)) from error


def upgraded(path: Path) -> JsonPlan:
    data = json.loads(path.read_bytes())
    plan = JsonPlan(created_at=str(data.get("created_at", "")))
    for task in old_tasks(data["tasks"].values(), str(path)):
        plan.put(task, task_line(task))
        plan.last_number = task.number
        plan.updated_at = max(plan.updated_at, task.updated_at)
    return plan


def task_line(task: Task) -> str:
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


def event_line(event: Event) -> str:
    data = asdict(event)
    # asdict takes named tuples apart and builds them anew; JSON needs neither.
    data["changes"] = event.changes
    return _dumps(data)


def _event_of(data: dict[str, Any]) -> Event:
    changes = {key: Change(*pair) for key, pair in data["changes"].items()}
    return Event(**{**data, "changes": changes})


def answer_line(kept: Kept) -> str:
    data = {"fingerprint": kept.fingerprint, "answer": kept.answer, "at": kept.at}
    return f"{_dumps(kept.key)}: {_dumps(data)}"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def corrupt(path: Path, why: str) -> Unavailable:
    return Unavailable(
        f"{path} is not an intact JSON plan ({why}); it was left as it is.",
        reason="corrupt_store",
        suggestions=["Put a backup in its place, or move it away and run: tasky project init"],
    )
