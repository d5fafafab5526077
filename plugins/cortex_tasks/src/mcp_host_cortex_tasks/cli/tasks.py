"""ctx tasks list | show"""

import argparse

from ..model import Task, task_id
from ..storage.config import Config
from ..storage.stores import open_tasks
from .answer import Answer, plain, say


def list_tasks(given: argparse.Namespace, config: Config) -> Answer:
    """Show the caller's tasks."""
    tasks = open_tasks(config).mine()
    count = len(tasks)
    message = f"{count} assigned task{'s' * (count != 1)}" if tasks else "No assigned tasks"
    data = {"tasks": [task.as_data() for task in tasks], "message": message}
    return Answer(data, lambda: _table(tasks) if tasks else say(message)())


def show(given: argparse.Namespace, config: Config) -> Answer:
    """Show one task."""
    task = open_tasks(config).get(task_id(given.id))
    facts = {key: value for key, value in task.as_data().items() if value not in (None, [], "")}
    lines = [f"{key.replace('_', ' '):16} {value}" for key, value in facts.items()]
    return Answer({"success": True, "task": task.as_data()}, say(*lines))


def _table(tasks: list[Task]) -> None:
    """Print the tasks as a table, in colour where a terminal shows it."""
    from rich.console import Console  # people wait for rich, programs never do
    from rich.table import Table
    from rich.text import Text

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
