"""ctx tasks list | show"""

import argparse

from ..model.rules import PRIORITIES, STATUSES, TYPES, one_of, task_id
from ..model.task import Task
from ..storage.config import Config
from ..storage.stores import open_tasks
from .answer import Answer, plain, say


def list_tasks(given: argparse.Namespace, config: Config) -> Answer:
    """Show the caller's tasks."""
    tasks = [task for task in open_tasks(config).mine() if _is_wanted(task, given)]
    count = len(tasks)
    message = f"{count} assigned task{'s' * (count != 1)}" if tasks else "No assigned tasks"
    data = {"tasks": [task.as_data() for task in tasks], "message": message}
    return Answer(data, lambda: _table(tasks) if tasks else say(message)())


def _is_wanted(task: Task, given: argparse.Namespace) -> bool:
    """Tell whether a task is one of those asked for."""
    words = {
        "status": (given.status or "").upper(),
        "type": (given.type or "").lower(),
        "priority": (given.priority or "").upper(),
    }
    allowed = {"status": STATUSES, "type": TYPES, "priority": PRIORITIES}
    for name, word in words.items():
        if word and getattr(task, name) != one_of(name, word, allowed[name]):
            return False
    text = f"{task.title}\n{task.description or ''}".lower()
    return (given.search or "").lower() in text and not (given.open and task.status == "DONE")


def show(given: argparse.Namespace, config: Config) -> Answer:
    """Show one task, and with `--all` what was said of it."""
    tasks = open_tasks(config)
    task = tasks.get(task_id(given.id))
    facts = {key: value for key, value in task.as_data().items() if value not in (None, [], "")}
    lines = [f"{key.replace('_', ' '):16} {value}" for key, value in facts.items()]
    data = task.as_data()
    if given.all:
        from .feedback import told_of  # git and forges: only for those who ask

        notes = [one.as_data() for one in tasks.comments(task.id)]
        data |= {"comments": notes, "request": told_of(task, config)}
        lines += [f"{note['author']}: {note['content']}" for note in notes]
    return Answer({"success": True, "task": data}, say(*lines))


def _table(tasks: list[Task]) -> None:
    """Print the tasks as a table, in colour where a terminal shows it."""
    from rich.console import Console  # people wait for rich, programs never do
    from rich.table import Table
    from rich.text import Text

    colours = {"TODO": "cyan", "IN_PROGRESS": "yellow", "REVIEW": "magenta", "DONE": "green"}
    table = Table("ID", "Title", "Status", "Priority", "Deadline")
    table.add_column("Branch", overflow="fold")
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
