"""Tasks as the terminal shows them: one whole, a line for what was done, what has changed."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..service import Tasks
from .plan import in_local_time, local_time, plain, print_json

_SHOWN = 80
NARROW = 60
"""Below so many columns a table would cut ids and names: rows are lines then."""
_RELATIONS = (
    "blockers",
    "blocked_by",
    "blocks",
    "subtasks",
    "subtask_of",
    "discovered_from",
    "discovered",
)
_TIMES = ("created_at", "updated_at", "claimed_until")
_ACTIONS = {
    "create": "green",
    "complete": "green",
    "claim": "cyan",
    "release": "cyan",
    "cancel": "yellow",
    "delete": "red",
    "undo": "magenta",
}
_COLOURS = {"pending": "yellow", "completed": "green", "cancelled": "dim"}


def show_task(tasks: Tasks, view: Mapping[str, Any]) -> None:
    """Print a task: of the tasks that it relates to the names, and times in the project's zone."""
    related = {name: _listed(view.get(name)) for name in _RELATIONS}
    known = tasks.known(sorted({one for ids in related.values() for one in ids}))
    table = Table(show_header=False, title=Text(plain(view["name"])))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # an id that is cut is of no use
    for name, value in view.items():
        if name == "name" or value in (None, []):
            continue
        shown = Text(plain(_cell(value)))
        if name in related:
            shown = Text("\n").join(_named(one, known.get(one)) for one in related[name])
        elif name in _TIMES:
            shown = Text(local_time(tasks, str(value)))
        elif name == "status":
            shown.stylize(_COLOURS.get(str(value), ""))
        elif name == "notes":
            lines = (f"{local_time(tasks, one['at'])} {one['by']}: {one['text']}" for one in value)
            shown = Text(plain("\n".join(lines)))
        table.add_row(name, shown)
    Console().print(table)


def _listed(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] * bool(value)


def _named(task_id: str, known: Mapping[str, Any] | None) -> Text:
    """Return an id with the task's name beside it, in the colour of its status."""
    text = Text(task_id[:8], style="dim")
    if known:
        status = str(known["status"])
        text.append(f" {plain(known['name'])}", style=_COLOURS.get(status, "default"))
        if status != "pending":
            text.append(f" ({status})", style="dim")
    return text


def row_line(row: Mapping[str, Any]) -> Text:
    """Return a task on one line: id, priority, name, who holds it, when it is due."""
    text = Text()
    text.append(f"{str(row['task_id'])[:8]} ", style="dim")
    text.append(f"P{row['priority']} ", style="red" if row["priority"] == 5 else "dim")
    text.append(plain(row["name"]))
    if row.get("claimed_by"):
        text.append(f" · {plain(row['claimed_by'])}", style="cyan")
    if row["due_date"]:
        text.append(f" · {row['due_date'][:10]}", style="dim")
    return text


def event_line(tasks: Tasks, event: Mapping[str, Any]) -> Text:
    """Return an event on one line: when, who, what, and the task."""
    text = Text()
    text.append(f"{local_time(tasks, event['at'])} ", style="dim")
    text.append(plain(event["caller"]), style="bold")
    text.append(f" {event['action']} ", style=_ACTIONS.get(event["action"], ""))
    text.append(f"{event['task_id'][:8]} ", style="dim")
    text.append(plain(event["name"]))
    return text


def tell(did: str, views: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(views)
        return
    for view in views:
        what = "removed" if view["status"] == "deleted" else did
        typer.echo(plain(f"{what}: {view['task_id'][:8]} {view.get('name', '')}".rstrip()))
        tell_warnings(view)


def tell_warnings(view: Mapping[str, Any]) -> None:
    """Print what a write's answer warns of."""
    for warning in view.get("warnings", ()):
        typer.echo(in_local_time(plain(warning)))


def changes_line(event: Mapping[str, Any]) -> str:
    """Return what changed on one line, long texts cut; of what is gone nothing more is said."""
    if event["action"] == "delete":
        return ""
    return "; ".join(
        f"{name}: {_short(_cell(after)) if after is not None else '–'}"
        for name, (_, after) in event["changes"].items()
        if name not in ("due_at", "source")
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _cell(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):  # notes
        return "\n".join(f"{one['at'][:16]} {one['by']}: {one['text']}" for one in value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
