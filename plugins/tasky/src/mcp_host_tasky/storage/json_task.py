"""A task of a JSON plan as a file of its own, laid out so that git can merge what two branches did.

Each field stands on a line, with an empty line to the next, so that changes of different fields are
apart; what every change touches (revision, times, events) is kept elsewhere. The last line is like
no other task's: two files that are alike git may take for one that was renamed, where a branch
deletes a task and adds another, and what is said of the one would be merged into the other.
"""

import base64
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UnavailableError
from ..model import Note, Source, Status, Task

_MARK_BYTES = 750
_MARKS = ("<<<<<<< ", "=======", ">>>>>>> ")


class TaskState(NamedTuple):
    """What this machine knows of a task besides its file: its last change, and the file then."""

    revision: int
    updated_at: str
    last_event: int
    digest: str

    @classmethod
    def of(cls, task: Task, text: str) -> "TaskState":
        return cls(task.revision, task.updated_at, task.last_event, digest(text))


# The last event of a task that was changed outside of Tasky, by an editor or by git.
ELSEWHERE = -1


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def task_text(task: Task) -> str:
    """Return the file of a task: the same text for the same content, on every machine."""
    fields: dict[str, Any] = {
        "task_id": task.task_id,
        "name": task.name,
        "details": task.details,
        "status": task.status.value,
        "priority": task.priority,
        "due_date": task.due_date,
        "due_at": task.due_at,
        "tags": list(task.tags),
        "blockers": list(task.blockers),
        "subtask_of": task.subtask_of,
        "notes": [note._asdict() for note in task.notes],
        "created_at": task.created_at,
        "number": task.number,
    }
    # What few tasks have stands only where it is set: older files stay as they are.
    rare: dict[str, Any] = {
        "done_when": list(task.done_when),
        "discovered_from": task.discovered_from,
        "source": task.source._asdict() if task.source else None,
    }
    fields |= {name: value for name, value in rare.items() if value}
    fields["mark"] = mark_of(task.task_id)
    lines = (f"{dumps(name)}: {_value(value)}" for name, value in fields.items())
    return "{\n" + ",\n\n".join(lines) + "\n}\n"


def mark_of(task_id: str) -> str:
    """Return letters that are a task's own, and more of them than what tasks have alike."""
    return base64.b64encode(hashlib.shake_256(task_id.encode()).digest(_MARK_BYTES)).decode()


def read_task(text: str, path: Path, state: TaskState | None, changed_at: str) -> Task:
    """Return the task of a file; `changed_at` is when somebody else changed it, if they did."""
    if is_conflicted(text):
        raise conflicted(path)
    try:
        data = json.loads(text)
        if data["task_id"] != path.stem:
            raise ValueError(f"it holds the task {data['task_id']}")
        task = task_of(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise corrupt(path, str(error)) from error
    if state is None:
        return replace(task, updated_at=task.created_at)
    if state.digest == digest(text):
        return replace(
            task,
            revision=state.revision,
            updated_at=state.updated_at,
            last_event=state.last_event,
        )
    return replace(
        task,
        revision=state.revision + 1,
        updated_at=max(changed_at, state.updated_at),
        last_event=ELSEWHERE,
    )


def task_of(data: dict[str, Any]) -> Task:
    """Return the content of a task; what is kept elsewhere is as of a new one."""
    return Task(
        task_id=data["task_id"],
        number=data["number"],
        name=data["name"],
        details=data["details"],
        status=Status(data["status"]),
        priority=data["priority"],
        due_date=data.get("due_date"),
        due_at=data.get("due_at"),
        tags=tuple(data.get("tags") or ()),
        blockers=tuple(data.get("blockers") or ()),
        subtask_of=data.get("subtask_of"),
        notes=tuple(_note(one) for one in data.get("notes") or ()),
        done_when=tuple(data.get("done_when") or ()),
        discovered_from=data.get("discovered_from"),
        source=Source(**data["source"]) if data.get("source") else None,
        created_at=data["created_at"],
        updated_at=data.get("updated_at", data["created_at"]),
    )


def is_conflicted(text: str) -> bool:
    """Whether git left both sides of a merge in the text."""
    return any(line.startswith(_MARKS[0]) for line in text.splitlines())


def sides(text: str) -> tuple[str, str]:
    """Return the two texts that a merge left in one."""
    ours: list[str] = []
    theirs: list[str] = []
    into = (ours, theirs)
    for line in text.splitlines(keepends=True):
        if line.startswith(_MARKS[0]):
            into = (ours,)  # type: ignore[assignment]
        elif line.startswith("||||||| "):
            into = ()  # type: ignore[assignment]
        elif line.rstrip("\n") == _MARKS[1] and into != (ours, theirs):
            into = (theirs,)  # type: ignore[assignment]
        elif line.startswith(_MARKS[2]):
            into = (ours, theirs)
        else:
            for one in into:
                one.append(line)
    return "".join(ours), "".join(theirs)


def conflicted(path: Path) -> UnavailableError:
    return UnavailableError(
        f"{path} holds both sides of a merge that is not resolved; it was left as it is.",
        reason="conflicted_store",
        suggestions=[
            "Resolve it as any other file, or run: tasky resolve (our side stays, and what theirs "
            "says otherwise is kept in a note)",
        ],
    )


def corrupt(path: Path, why: str) -> UnavailableError:
    return UnavailableError(
        f"{path} is not an intact part of a JSON plan ({why}); it was left as it is.",
        reason="corrupt_store",
        suggestions=_ways_out(path),
    )


def _ways_out(path: Path) -> list[str]:
    if path.name.startswith("claims"):
        return [f"Remove it: then nobody holds a task, and whoever does claims it anew: rm {path}"]
    if path.name.startswith("local.json"):
        return [
            "Put a backup in its place.",
            f"Or remove it: the tasks stay, their history and revisions begin anew: rm {path}",
        ]
    if path.name == "journal.json":
        return [
            "Put a backup in its place.",
            f"Or remove it: of the last write some tasks may be missing: rm {path}",
        ]
    return ["Put a backup in its place, or what git has: git restore FILE"]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _value(value: Any) -> str:
    """Return a value on one line, a list with an item on each."""
    if not isinstance(value, list) or not value:
        return dumps(value)
    return "[\n" + ",\n".join(dumps(item) for item in value) + "\n]"


def _note(data: Any) -> Note:
    return Note(**data) if isinstance(data, dict) else Note(*data)
