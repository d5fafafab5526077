"""The way out of a merge that git left to people: nothing of either side is lost."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import UnavailableError
from ..model.dates import micros
from .journal import put
from .json_plan import VERSION
from .json_task import corrupt, is_conflicted, sides, task_of, task_text
from .upgrade import Backup
from .worktrees import unmerged

_AUTHOR = "merge"
_JOINED = ("tags", "blockers", "notes")
_OWN = ("updated_at", "revision", "last_event", "number", "claim", "claims", "due_at", "mark")
_DELETED = {
    frozenset((1, 2)): "The other side of a merge deleted this task; ours changed it: it stays.",
    frozenset((1, 3)): "Our side of a merge deleted this task; the other changed it: it stays.",
}
"""What is noted at a task that one side deleted, by the versions that git has of its file."""


def resolve_files(path: Path) -> list[Path]:
    """Bring both sides together in every file of the plan that git left to people; return those
    files, also where all that is missing is that git is told.

    Our side's fields stay; tags, blockers and notes of both are joined; where theirs says anything
    else otherwise, a note of the task says so. What one side deleted and the other changed stays,
    with a note. The caller holds the plan's lock.
    """
    text = _text(path)
    if is_conflicted(text):
        ours, theirs = (_parsed(side, path) for side in sides(text))
        joined_plan = _joined_plan(ours, theirs, path)
        Backup(path, "conflict").copy()
        put(path, json.dumps(joined_plan) + "\n", path)
        return [path]
    data = _parsed(text, path)
    if data.get("version") != VERSION:
        return []
    folder = path.parent / data["tasks"]
    left = unmerged(folder)
    resolved = []
    for file in sorted(folder.glob("*.json")):
        text = _text(file)
        if is_conflicted(text):
            ours, theirs = (_parsed(side, file) for side in sides(text))
            _write(joined(ours, theirs), file, path)
        elif note := _DELETED.get(left.get(file.name, frozenset())):
            _write(_noted(_parsed(text, file), note), file, path)
        elif file.name not in left:
            continue
        resolved.append(file)
    return resolved + [folder / name for name in left if not (folder / name).exists()]


def _write(data: Mapping[str, Any], file: Path, path: Path) -> None:
    try:
        task = task_of(dict(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise corrupt(file, str(error)) from error
    put(file, task_text(task), path)


def _noted(data: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a task with a note of a merge, which it has once."""
    notes = list(data.get("notes") or ())
    if not any(note["author"] == _AUTHOR and note["text"] == text for note in notes):
        notes.append({"at": micros(datetime.now(UTC)), "author": _AUTHOR, "text": text})
    return {**data, "notes": notes}


def joined(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return one task of two versions of it."""
    both = dict(ours)
    for name in _JOINED:
        found = [*(ours.get(name) or ()), *(theirs.get(name) or ())]
        both[name] = [one for n, one in enumerate(found) if one not in found[:n]]
    both["notes"].sort(key=lambda note: note["at"])
    said = [
        f"{name}: {theirs[name]}"
        for name in theirs
        if name not in (*_JOINED, *_OWN) and theirs[name] != ours.get(name)
    ]
    if said:
        return _noted(both, f"The other side of a merge said: {'; '.join(said)}")
    return both


def _joined_plan(ours: dict[str, Any], theirs: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return one plan of an older format, in which all stood in one file, of two. What a plan is
    known by in this format is the same on every branch."""
    versions = {str(side.get("version")) for side in (ours, theirs)}
    if versions == {VERSION}:
        return ours
    mine, other = ours.get("tasks"), theirs.get("tasks")
    if not isinstance(mine, dict) or not isinstance(other, dict):
        raise UnavailableError(
            f"The sides of {path} have different formats ({', '.join(sorted(versions))}); it was "
            "left as it is.",
            reason="conflicted_store",
            suggestions=["Take one side: git checkout --ours FILE, or git checkout --theirs FILE"],
        )
    tasks = {**other, **mine}
    for key in mine.keys() & other.keys():
        if mine[key] != other[key]:
            tasks[key] = joined(mine[key], other[key])
    last = max(ours.get("last_number", 0), theirs.get("last_number", 0))
    return {**ours, "tasks": tasks} | ({"last_number": last} if last else {})


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise corrupt(path, "it is not UTF-8") from error


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnavailableError(
            f"{path} cannot be parted into two sides ({error}); it was left as it is.",
            reason="corrupt_store",
            suggestions=["Resolve the file in an editor, or take one side: git checkout --ours"],
        ) from error
    if not isinstance(data, dict):
        raise corrupt(path, "it must be an object")
    return data
