"""The formats of other tools that plans are read from and written to."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from ...errors import InvalidError
from . import record
from .backlog import Backlog, has_front_matter
from .beads import Beads
from .checklists import Checklist
from .github import GitHub, issues_of
from .native import Native
from .openspec import OpenSpec
from .record import Format, Record
from .table import Table
from .task_master import TaskMaster

NATIVE = Native.name
"""The format of our own, which keeps everything."""
FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Native(),
        Beads(),
        TaskMaster(),
        Backlog(),
        GitHub(),
        Checklist(),
        OpenSpec(),
        Table(),
    )
}
_NAMED = 3
_GROUP = re.compile(r"(?m)^##\s+\d+\.\s.*\n(?:.*\n)*?\s*[-*]\s+\[.\]\s+\d+\.\d+")


def named(name: str) -> Format:
    """Return the format of this name."""
    found = FORMATS.get(name.lower().replace("_", "-").replace("taskmaster", "task-master"))
    if found is None:
        raise InvalidError(
            f"{name!r} is not a format.",
            reason="unknown_format",
            suggestions=[f"Formats: {', '.join(FORMATS)}."],
        )
    return found


def bound_for(form: Format, path: str) -> Format:
    """Return a format as it is written to this file: a list has our ids where it is not the one
    that its tasks came from."""
    return replace(form, target=path) if isinstance(form, Checklist | OpenSpec) else form


def records_of(form: Format, files: Mapping[str, str]) -> list[Record]:
    """Return the tasks of files; what is not of the form that the format has is said so."""
    try:
        return form.read(files)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        names = ", ".join(files) if len(files) < _NAMED else f"one of {len(files)} files"
        raise InvalidError(
            f"{names} is not as {form.name} writes it: {type(error).__name__}, {error}.",
            reason="bad_file",
        ) from error


def found_in(path: str, content: str) -> Format:
    """Return the format of a file, by its name and by what is in it."""
    suffix = PurePosixPath(path).suffix.lower()
    start = content.removeprefix("\ufeff").lstrip()
    if suffix == ".csv" or suffix == ".tsv":
        return FORMATS["csv"]
    if suffix == ".jsonl" and not start:
        return FORMATS["beads"]
    if has_front_matter(content):
        return FORMATS["backlog"]
    if suffix in (".md", ".markdown") or re.match(r"#|[-*+] \[", start):
        is_openspec = PurePosixPath(path).name == "tasks.md" or _GROUP.search(content)
        return FORMATS["openspec" if is_openspec else "markdown"]
    if start.startswith(("{", "[")):
        return FORMATS[_of_json(path, content)]
    if re.match(r'[^\n]*(?:^|[,;\t"])(?:name|title|summary|task)["\s]*(?:[,;\t\n]|$)', start, re.I):
        return FORMATS["csv"]
    raise InvalidError(
        f"{path} is of no format that is known." if start else f"{path} is empty.",
        reason="unknown_format",
        suggestions=[f"Say which it is with --format: {', '.join(FORMATS)}."],
    )


def _of_json(path: str, content: str) -> str:
    lines = re.split("\r?\n", content.strip())
    are_lines = path.lower().endswith(".jsonl") or (
        len(lines) > 1
        and all(line.startswith("{") for line in lines[:2])
        and lines[0].endswith("}")
    )
    data = record.json_of(lines[0], f"{path}, line 1,") if are_lines else None
    if data is None:
        several = record.documents(content, path)
        data = several[0] if len(several) == 1 else several
    issues = issues_of(data)
    first = issues[0] if issues else None
    if isinstance(first, dict) and "title" in first and ("number" in first or "body" in first):
        return "github"
    if are_lines or (isinstance(data, dict) and "issue_type" in data):
        return "beads"
    if isinstance(data, list):
        is_theirs = isinstance(first, dict) and "title" in first and "name" not in first
        return "task-master" if is_theirs else "tasky"
    tasks = data.get("tasks")
    if tasks is None:
        return "task-master"
    one = tasks[0] if isinstance(tasks, list) and tasks else None
    is_theirs = isinstance(one, dict) and "title" in one and "name" not in one
    return "task-master" if is_theirs else "tasky"


__all__ = ["FORMATS", "Format", "Record", "bound_for", "found_in", "named", "records_of"]
