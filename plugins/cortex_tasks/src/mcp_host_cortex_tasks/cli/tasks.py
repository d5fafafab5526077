"""ctx tasks list | new | show | start | pr | done | delete | status"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_host_cortex_tasks.cli.answer import Answer, say
from mcp_host_cortex_tasks.errors import Invalid
from mcp_host_cortex_tasks.model import Draft, Task, task_id
from mcp_host_cortex_tasks.storage.config import Config
from mcp_host_cortex_tasks.storage.tasks import open_tasks

if TYPE_CHECKING:
    from mcp_host_cortex_tasks.service.work import Work


def list_tasks(given: argparse.Namespace, config: Config) -> Answer:
    """Show the caller's tasks."""
    tasks = open_tasks(config).mine()
    count = len(tasks)
    message = f"{count} assigned task{'s' * (count != 1)}" if tasks else "No assigned tasks"
    data = {"tasks": [task.as_data() for task in tasks], "message": message}
    return Answer(data, lambda: _table(tasks) if tasks else say(message)())


def new(given: argparse.Namespace, config: Config) -> Answer:
    """Make a task."""
    draft = Draft(
        title=given.title,
        description=given.description,
        type=given.type.lower(),
        priority=given.priority.upper(),
        deadline=given.deadline,
        project_id=None if given.project is None else task_id(given.project),
    )
    if given.dry_run:
        return _would({"success": True}, [f"make the task {draft.title!r}"])
    work = _work(given, config)
    task = work.tasks.create(draft)
    _note(work, "new", task.id, f"make task {task.id}")
    data = {"success": True, "task_id": task.id, "task": task.as_data()}
    return Answer(data, say(f"Task {task.id} is made. Begin with: ctx tasks start {task.id}"))


def show(given: argparse.Namespace, config: Config) -> Answer:
    """Show one task."""
    task = open_tasks(config).get(task_id(given.id))
    facts = {key: value for key, value in task.as_data().items() if value not in (None, [], "")}
    lines = [f"{key.replace('_', ' '):16} {value}" for key, value in facts.items()]
    return Answer({"success": True, "task": task.as_data()}, say(*lines))


def start(given: argparse.Namespace, config: Config) -> Answer:
    """Begin a task."""
    from mcp_host_cortex_tasks.service.start import Start

    number = task_id(given.id)
    work = _work(given, config)
    data = Start(work, number, given.branch, given.worktree, given.reopen).run()
    place = f" in {data['worktree']}" if "worktree" in data else ""
    return _done(data, f"Task {number} is on {data['branch']}{place}.")


def submit(given: argparse.Namespace, config: Config) -> Answer:
    """Commit, push, open the pull request."""
    from mcp_host_cortex_tasks.service.submit import Submit

    work = _work(given, config).at_task(_named(given))
    what = (tuple(given.add), tuple(given.allow), given.use_title)
    try:
        data = Submit(work, given.message, *what).run()
    except Invalid as error:
        asked = None if given.message is not None else _ask_message(error, given)
        if asked is None:
            raise
        data = Submit(work, asked, *what).run()
    left_out = data.get("left_out")
    more = [f"Not added: {name}" for name in left_out] if isinstance(left_out, list) else []
    return _done(data, f"Task {data['task_id']} is in review.", str(data["pr_url"] or ""), *more)


def done(given: argparse.Namespace, config: Config) -> Answer:
    """Complete the current task."""
    from mcp_host_cortex_tasks.service.complete import Complete

    data = Complete(_work(given, config), given.force, _named(given)).run()
    cleaned = data["cleaned"]
    gone = f"Deleted: {', '.join(cleaned)}." if isinstance(cleaned, list) and cleaned else ""
    return _done(data, f"Task {data['task_id']} is done.", gone)


def delete(given: argparse.Namespace, config: Config) -> Answer:
    """Delete a task."""
    number = task_id(given.id)
    work = _work(given, config)
    if given.dry_run:
        work.tasks.get(number)
        return _would({"success": True, "task_id": number}, [f"delete task {number}"])
    work.tasks.delete(number)
    _note(work, "delete", number, f"delete task {number}")
    data = {"success": True, "task_id": number, "deleted": True}
    return Answer(data, say(f"Task {number} is deleted. To bring it back: ctx undo"))


def status(given: argparse.Namespace, config: Config) -> Answer:
    """Tell where one stands."""
    from mcp_host_cortex_tasks.service.status import status as stand

    data = stand(_work(given, config).at_task(_named(given)))
    whose = (
        f"the branch of task {data['task_id']}" if data["is_task_branch"] else "no task's branch"
    )
    return Answer(data, say(f"{data['branch'] or 'Detached HEAD'}: {whose}."))


def _work(given: argparse.Namespace, config: Config) -> "Work":
    from mcp_host_cortex_tasks.service.work import Work

    return Work(config, Path.cwd(), getattr(given, "dry_run", False))


def _named(given: argparse.Namespace) -> int | None:
    return None if given.task is None else task_id(given.task)


def _note(work: "Work", command: str, number: int, what: str) -> None:
    """Put what concerns no repository into the journal, for `ctx undo`."""
    from mcp_host_cortex_tasks.storage.journal import Step

    entry = work.own_journal.begin(command, number)
    entry.steps.append(Step(command, what, {}, {}, done=True))
    entry.finished = True
    work.own_journal.keep(entry)


def _ask_message(error: Invalid, given: argparse.Namespace) -> str | None:
    """Ask a person at a terminal for the commit message; None where there is nobody to ask."""
    if error.reason != "commit_message_required" or given.json or not sys.stdin.isatty():
        return None
    return input("Commit message: ")


def _done(data: Mapping[str, object], *lines: str) -> Answer:
    would = data.get("would")
    if isinstance(would, list):
        return _would(data, would)
    warnings = data.get("warnings")
    told = [f"Note: {text}" for text in warnings] if isinstance(warnings, list) else []
    if isinstance(data.get("message"), str):
        told.append(str(data["message"]))
    return Answer(data, say(*(line for line in (*lines, *told) if line)))


def _would(data: Mapping[str, object], would: list[str]) -> Answer:
    lines = [f"Would {what}" for what in would] or ["There is nothing to do."]
    return Answer({**data, "dry_run": True, "would": would}, say(*lines))


def _table(tasks: list[Task]) -> None:
    """Print the tasks as a table, in colour where a terminal shows it."""
    from rich.console import Console  # people wait for rich, programs never do
    from rich.table import Table
    from rich.text import Text

    from mcp_host_cortex_tasks.cli.answer import plain

    colours = {"TODO": "cyan", "IN_PROGRESS": "yellow", "REVIEW": "magenta", "DONE": "green"}
    table = Table("ID", "Title", "Status", "Priority", "Deadline", "Branch")
    for task in tasks:
        cells = [
            str(task.id),
            task.title,
            task.status,
            task.priority,
            task.deadline or "",
            task.branch_name or "",
        ]
        # Text, not markup: a title like [urgent] is shown as it is.
        row = [Text(plain(cell)) for cell in cells]
        row[2].stylize(colours.get(task.status, ""))
        table.add_row(*row)
    Console().print(table)
