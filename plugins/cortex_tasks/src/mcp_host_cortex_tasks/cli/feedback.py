"""ctx tasks feedback: what others made of a task's request"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from ..errors import CortexError, InvalidError, NotFoundError
from ..model.rules import task_id
from ..model.task import Task
from ..service.feedback import feedback_of, feedback_or_why
from ..service.work import Work
from ..storage.config import Config
from .answer import Answer, say
from .common import work_of


def feedback(given: argparse.Namespace, config: Config) -> Answer:
    """Show what others made of a task's request."""
    work = work_of(given, config)
    number = None if given.id is None else task_id(given.id)
    branch = _branch_of(work, number)
    told = feedback_of(work, branch, _tags(given.unless))
    data = {
        "success": True,
        "branch": branch,
        "request": told.request,
        "changed": not told.same,
        "tags": told.tags,
    }
    lines = feedback_lines(told.request) or ["There is no request that a forge can tell of."]
    return Answer(data, say(*(["Nothing is new."] if told.same else lines)))


def told_of(task: Task, config: Config) -> dict[str, object] | None:
    """Return what the forge tells of a task's request, None outside of its repository."""
    work = Work(config, Path.cwd())
    try:
        branch = work.branch_of(task.id) or task.branch_name
    except CortexError:
        return None
    return None if branch is None else feedback_or_why(work, branch)


def feedback_lines(request: Mapping[str, object] | None) -> list[str]:
    """Say in lines what others made of a request; their words are marked as theirs."""
    if request is None:
        return []
    if "error" in request:
        return [f"The forge could not be asked: {request['error']}"]
    draft = ", a draft" if request["draft"] else ""
    lines = [f"{request['url']} is {request['state']}{draft}."]
    checks, reviews = request["checks"], request["reviews"]
    if isinstance(checks, list) and checks:
        bad = [str(one["name"]) for one in checks if one["state"] != "success"]
        named = f" ({', '.join(bad[:10])})" if bad else ""
        lines.append(f"CI: {request['ci']}{named}.")
    if request["state"] == "open" and request["mergeable"] is False:
        lines.append("It cannot be merged as it is: ctx tasks sync")
    if isinstance(reviews, list):
        lines += [f"{one['author']}: {one['state'].replace('_', ' ')}." for one in reviews]
    comments = request["unresolved"]
    for one in comments if isinstance(comments, list) else ():
        place = f" on {one['path']}" if "path" in one else ""
        lines.append(f"{one['author']} (may {one['right']}) wrote{place}: {one['body']}")
    if hidden := request.get("hidden_comments"):
        lines.append(f"{hidden} more by people who may not write are not shown.")
    return lines


def _branch_of(work: Work, number: int | None) -> str:
    if number is None:
        return work.current_task()[0]
    branch = work.branch_of(number) or work.tasks.get(number).branch_name
    if branch is None:
        raise NotFoundError(f"Task {number} has no branch yet.", reason="no_branch")
    return branch


def _tags(text: str | None) -> dict[str, str]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidError("--unless must be the tags of an earlier answer, as JSON.")
    return {str(key): str(value) for key, value in found.items()}
