"""ctx tasks edit | assign | comment"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import InvalidError
from ..model.rules import check_comment, task_id
from ..model.task import Draft
from ..storage.config import Config
from ..storage.stores import open_tasks
from .answer import Answer, say
from .common import noting, plain, work_of, would


def edit(given: argparse.Namespace, config: Config) -> Answer:
    """Change a task."""
    names = ("title", "description", "type", "priority", "deadline")
    fields: dict[str, object] = {
        name: value for name in names if (value := getattr(given, name, None)) is not None
    }
    work, number = work_of(given, config), task_id(given.id)
    if given.assignee is not None:
        fields["assignee_id"] = work.tasks.find_user(given.assignee).id
    if not fields:
        raise InvalidError("Nothing was given to change.", reason="usage")
    before = work.tasks.get(number)
    data = before.as_data()
    checked = replace(Draft(title=before.title), **_checked(fields))
    fields |= {name: getattr(checked, name) for name in fields if name != "assignee_id"}
    what = f"change {', '.join(fields)} of task {number}"
    if given.dry_run:
        return would({"success": True, "task_id": number}, [what])
    was = {name: plain(data[name]) for name in fields}
    now = {name: plain(value) for name, value in fields.items()}
    with noting(work, "edit", number, what, was, now):
        task = work.tasks.change(number, fields, seen=before)
    return Answer(
        {"success": True, "task_id": number, "task": task.as_data()},
        say(f"Task {number} is changed. To take it back: ctx undo"),
    )


def assign(given: argparse.Namespace, config: Config) -> Answer:
    """Give a task to somebody."""
    return edit(given, config)


def comment(given: argparse.Namespace, config: Config) -> Answer:
    """Put a comment to a task, unless it has it already; without a text show them."""
    tasks, number = open_tasks(config), task_id(given.id)
    check_comment(given.text)
    notes = tasks.comments(number)
    if given.text is not None and not any(one.text == given.text for one in notes):
        tasks.comment(number, given.text)
        notes = tasks.comments(number)
    data = {"success": True, "task_id": number, "comments": [one.as_data() for one in notes]}
    lines = [f"{one.author}: {one.text}" for one in notes] or ["There are no comments."]
    return Answer(data, say(*lines))


def _checked(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that a draft checks, in the words that backends take."""
    given = {name: value for name, value in fields.items() if name != "assignee_id"}
    if "type" in given:
        given["type"] = str(given["type"]).lower()
    if "priority" in given:
        given["priority"] = str(given["priority"]).upper()
    return given
