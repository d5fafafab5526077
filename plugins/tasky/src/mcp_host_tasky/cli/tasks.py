"""The commands for tasks: list, show, add, done, log, undo."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..service import Search
from .opening import HERE, AsJson, Folder, opened, person, plain, print_json

TaskIds = Annotated[list[str], typer.Argument(help="Ids, or unique beginnings of ids.")]


def list_tasks(
    words: Annotated[list[str] | None, typer.Argument(help="Only tasks with these words.")] = None,
    status: Annotated[
        str | None, typer.Option(help="pending (the default), completed, cancelled, or all.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Only what can be begun.")] = False,
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 5; 5 is the highest.")] = None,
    due_before: Annotated[str | None, typer.Option(help="A date, in ISO or words.")] = None,
    limit: Annotated[int, typer.Option(help="1 to 200.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="next_cursor of the page before.")] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """List tasks, the most urgent first."""
    asked = Search(
        status=None if status == "all" else status or "pending",
        search=" ".join(words) if words else None,
        ready=ready,
        tags=tuple(tag or ()),
        priority=priority,
        due_before=due_before,
        limit=limit,
        cursor=cursor,
    )
    with opened(folder) as tasks:
        page = tasks.search(asked, person())
    if as_json:
        rest = {"total": page.total, "next_cursor": page.next_cursor, **page.dates}
        print_json({**rest, "tasks": page.rows})
        return
    table = Table("id", "name", "status", "pri", "due")
    for row in page.rows:
        due = row["due_date"] or ""
        cells = (row["name"], row["status"], row["priority"], due)
        table.add_row(str(row["task_id"])[:8], *(Text(plain(cell)) for cell in cells))
    Console().print(table)
    for name, date in page.dates.items():
        typer.echo(f"{name.replace('_', ' ')}: {date}")
    if page.next_cursor:
        typer.echo(f"{len(page.rows)} of {page.total}; go on with --cursor {page.next_cursor}")


def show(task_ids: TaskIds, folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Show tasks in full."""
    with opened(folder) as tasks:
        views = tasks.get(task_ids)
    if as_json:
        print_json(views)
        return
    for view in views:
        table = Table(show_header=False, title=Text(plain(view["name"])))
        for name, value in view.items():
            if name != "name" and value not in (None, []):
                table.add_row(name, Text(plain(_cell(value))))
        Console().print(table)


def add(
    name: Annotated[str, typer.Argument(help="What is to be done.")],
    details: Annotated[str | None, typer.Option(help="More about it.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 5; 5 is the highest.")] = None,
    due: Annotated[str | None, typer.Option(help="A date, in ISO or words.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    blocker: Annotated[
        list[str] | None, typer.Option(help="A task to be done before; may be repeated.")
    ] = None,
    subtask_of: Annotated[str | None, typer.Option(help="The task that it is part of.")] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Add a task."""
    item = {
        "name": name,
        "details": details,
        "priority": priority,
        "due_date": due,
        "tags": tag,
        "blockers": blocker,
        "subtask_of": subtask_of,
    }
    with opened(folder) as tasks:
        (view,) = tasks.create([item], person())
    if as_json:
        print_json(view)
        return
    until = f", due {view['due_date']}" if view["due_date"] else ""
    typer.echo(plain(f"{str(view['task_id'])[:8]} {view['name']}{until}"))


def done(task_ids: TaskIds, folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Complete tasks, all or none."""
    operations = [{"action": "complete", "task_id": task_id} for task_id in task_ids]
    with opened(folder) as tasks:
        views = tasks.edit(operations, person())
    _tell("completed", views, as_json)


def log(
    task_id: Annotated[str | None, typer.Argument(help="Only this task's events.")] = None,
    limit: Annotated[int, typer.Option(help="How many, the newest first.", min=1)] = 20,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Show who changed what."""
    with opened(folder) as tasks:
        events = tasks.history(task_id, limit=limit)
    if as_json:
        print_json(events)
        return
    table = Table("event")
    table.add_column("when", no_wrap=True)
    for title in ("who", "did", "task", "changes"):
        table.add_column(title)
    for event in events:
        undone = f" (undone by {event['undone_by']})" if "undone_by" in event else ""
        cells = (
            str(event["event_id"]),
            str(event["at"])[:16].replace("T", " "),
            str(event["caller"]),
            f"{event['action']}{undone}",
            f"{str(event['task_id'])[:8]} {event['name']}",
            _changes(event["changes"]),
        )
        table.add_row(*(Text(plain(cell)) for cell in cells))
    Console().print(table)


def undo(
    event_id: Annotated[
        int | None, typer.Argument(help="An event of the log; by default your last call.")
    ] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Take back your last change, or an event of the log."""
    operation: dict[str, Any] = {"action": "undo"}
    if event_id is not None:
        operation["event_id"] = event_id
    with opened(folder) as tasks:
        views = tasks.edit([operation], person())
    _tell("restored", views, as_json)


def _tell(did: str, views: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(views)
        return
    for view in views:
        what = "removed" if view["status"] == "deleted" else did
        typer.echo(plain(f"{what}: {view['task_id'][:8]} {view.get('name', '')}".rstrip()))


def _changes(changes: Any) -> str:
    return "; ".join(
        f"{name}: {_cell(after) if after is not None else '–'}"
        for name, (_, after) in changes.items()
        if name != "due_at"
    )


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
