"""The commands for tasks: list, show, add, done, log, undo."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import InvalidError, TaskyError
from ..model import Status
from ..service import Search
from .plan import HERE, AsJson, Folder, local_time, opened, person, plain, print_json
from .showing import NARROW, changes_line, event_line, row_line, show_task, tell, tell_warnings

_COMPLETED = 30
_MEANT = "\\$`\"'\n"


def _ids(incomplete: str) -> list[tuple[str, str]]:
    """Return ids that begin so, with the names of their tasks, for the shell's completion."""
    with suppress(TaskyError), opened(HERE) as tasks:
        known = tasks.known(tasks.ids_from(incomplete, _COMPLETED))
        return [(task_id[:8], _for_shells(task["name"])) for task_id, task in known.items()]
    return []


def _for_shells(name: object) -> str:
    """Return a name without the letters that shells give a meaning: zsh evaluates what it is given
    to show, and names are written by agents."""
    return "".join("�" if one in _MEANT else one for one in plain(name))


TaskIds = Annotated[
    list[str],
    typer.Argument(help="Ids, or unique beginnings of ids.", autocompletion=_ids),
]
TaskId = Annotated[
    str, typer.Argument(help="An id, or a unique beginning of one.", autocompletion=_ids)
]
Force = Annotated[bool, typer.Option("--force", help="Also what an agent has claimed.")]


def list_tasks(
    words: Annotated[list[str] | None, typer.Argument(help="Only tasks with these words.")] = None,
    status: Annotated[
        str | None, typer.Option(help="pending (the default), completed, cancelled, or all.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Only what can be begun.")] = False,
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 5; 5 is the highest.")] = None,
    due_before: Annotated[str | None, typer.Option(help="A date, in ISO or words.")] = None,
    sort: Annotated[str | None, typer.Option(help="unblocks, with --ready.")] = None,
    limit: Annotated[int, typer.Option(help="1 to 200.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="next_cursor of the page before.")] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """List tasks, the most urgent first."""
    if status not in (None, "all", *Status):
        raise InvalidError(
            f"--status must be {', '.join(Status)} or all, not {status!r}.", reason="invalid_status"
        )
    if due_before is not None and not due_before.strip():
        raise InvalidError("--due-before is empty.", reason="invalid_date")
    if sort == "unblocks" and not ready:
        raise InvalidError("--sort unblocks needs --ready.", reason="invalid_sort")
    asked = Search(
        status=None if status == "all" else status or "pending",
        search=" ".join(words) if words else None,
        ready=ready,
        tags=tuple(tag or ()),
        priority=priority,
        due_before=due_before,
        sort=sort,
        limit=limit,
        cursor=cursor,
    )
    with opened(folder) as tasks:
        page = tasks.search(asked, person())
    if as_json:
        rest = {"total": page.total, "next_cursor": page.next_cursor, **page.dates}
        if page.has_more:
            rest["more_than_total"] = True
        print_json({**rest, "tasks": page.rows})
        return
    if not page.rows:
        typer.echo("No tasks match." if words or tag or priority or due_before else "No tasks.")
    _print_rows(page.rows)
    for name, date in page.dates.items():
        typer.echo(f"{name.replace('_', ' ')}: {date}")
    if page.next_cursor:
        more = "more than " if page.has_more else ""
        typer.echo(
            f"{len(page.rows)} of {more}{page.total}; go on with --cursor {page.next_cursor}"
        )


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    console = Console()
    if console.width < NARROW:
        for row in rows:
            console.print(row_line(row))
        return
    table = Table()
    table.add_column("id", no_wrap=True)
    for title in ("name", "status", "pri", "due", "held by"):
        table.add_column(title)
    for row in rows:
        due = row["due_date"] or ""
        held = row.get("claimed_by", "")
        cells = (row["name"], row["status"], row["priority"], due, held)
        table.add_row(str(row["task_id"])[:8], *(Text(plain(cell)) for cell in cells))
    if rows:
        console.print(table)


def ready(
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="unblocks: what the most tasks wait for, first.")
    ] = None,
    limit: Annotated[int, typer.Option(help="1 to 200.")] = 50,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """List what can be begun, the most urgent first."""
    list_tasks(ready=True, tag=tag, sort=sort, limit=limit, folder=folder, as_json=as_json)


def search(
    words: Annotated[list[str], typer.Argument(help="Words, or their beginnings.")],
    limit: Annotated[int, typer.Option(help="1 to 200.")] = 50,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """List tasks with all these words, of every status."""
    if not "".join(words).strip():
        raise InvalidError(
            "The words to search for are empty.",
            reason="invalid_search",
            suggestions=["List all tasks with: tasky list --status all"],
        )
    list_tasks(words, status="all", limit=limit, folder=folder, as_json=as_json)


def show(task_ids: TaskIds, folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Show tasks in full."""
    with opened(folder) as tasks:
        views = tasks.get(task_ids)
        if as_json:
            print_json(views)
            return
        for view in views:
            show_task(tasks, view)


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
    discovered_from: Annotated[
        str | None, typer.Option(help="The task that it was found during.")
    ] = None,
    done_when: Annotated[
        list[str] | None, typer.Option(help="A condition for it to be done; may be repeated.")
    ] = None,
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
        "discovered_from": discovered_from,
        "done_when": done_when,
    }
    with opened(folder) as tasks:
        (view,) = tasks.create([item], person())
    if as_json:
        print_json(view)
        return
    until = f", due {view['due_date']}" if view["due_date"] else ""
    typer.echo(plain(f"{str(view['task_id'])[:8]} {view['name']}{until}"))
    tell_warnings(view)


def done(
    task_ids: TaskIds, force: Force = False, folder: Folder = HERE, as_json: AsJson = False
) -> None:
    """Complete tasks, all or none."""
    operations = [{"action": "complete", "task_id": task_id} for task_id in task_ids]
    with opened(folder) as tasks:
        views = tasks.edit(operations, person(), force=force)
    tell("completed", views, as_json)


def change(action: str, did: str, about: str) -> Callable[..., None]:
    """Return the command that does one action on tasks, all or none."""

    def command(
        task_ids: TaskIds,
        note: Annotated[str | None, typer.Option(help="Left at the task for others.")] = None,
        force: Force = False,
        folder: Folder = HERE,
        as_json: AsJson = False,
    ) -> None:
        operations = [{"action": action, "task_id": one, "note": note} for one in task_ids]
        with opened(folder) as tasks:
            views = tasks.edit(operations, person(), force=force)
        tell(did, views, as_json)

    command.__doc__ = about
    return command


def edit(
    task_id: TaskId,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    details: Annotated[str | None, typer.Option(help='More about it; "" for nothing.')] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 5; 5 is the highest.")] = None,
    due: Annotated[str | None, typer.Option(help='A date, in ISO or words; "" for none.')] = None,
    subtask_of: Annotated[str | None, typer.Option(help='Its parent; "" for none.')] = None,
    discovered_from: Annotated[
        str | None, typer.Option(help='The task it was found during; "" for none.')
    ] = None,
    done_when: Annotated[
        list[str] | None, typer.Option(help='Conditions for it to be done; "" for none.')
    ] = None,
    blocker: Annotated[list[str] | None, typer.Option(help="Add a task to wait for.")] = None,
    no_blocker: Annotated[list[str] | None, typer.Option(help="Wait for it no more.")] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Change a task's fields."""
    fields = {"name": name, "details": details, "priority": priority, "due_date": due}
    relations = {
        "subtask_of": subtask_of,
        "add_blockers": blocker,
        "remove_blockers": no_blocker,
        "discovered_from": discovered_from,
        "done_when": done_when if done_when != [""] else [],
    }
    changes = {**fields, **relations}
    if all(value is None for value in changes.values()):
        raise typer.BadParameter("Give an option for what is to change.")
    operation = {"action": "update", "task_id": task_id, **changes}
    with opened(folder) as tasks:
        views = tasks.edit([operation], person())
    tell("changed", views, as_json)
    if due and not as_json:
        typer.echo(f"due {views[0]['due_date']}")


def tag(
    task_id: TaskId,
    tags: Annotated[list[str], typer.Argument(help="Tags to add; -TAG after -- takes one off.")],
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Add tags to a task, or take them off."""
    operation = {
        "action": "update",
        "task_id": task_id,
        "add_tags": [one for one in tags if not one.startswith("-")],
        "remove_tags": [one[1:] for one in tags if one.startswith("-")],
    }
    with opened(folder) as tasks:
        views = tasks.edit([operation], person())
    tell("tagged", views, as_json)


def note(
    task_id: TaskId,
    text: Annotated[str, typer.Argument(help="What the next one should know.")],
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Leave a note at a task, with your name and the time."""
    with opened(folder) as tasks:
        views = tasks.edit([{"action": "note", "task_id": task_id, "note": text}], person())
    tell("noted", views, as_json)


def take_next(
    tag: Annotated[list[str] | None, typer.Option(help="Only a task with this tag.")] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Choose the first task that can be begun, claim it, and show it."""
    with opened(folder) as tasks:
        (view,) = tasks.edit([{"action": "next", "tags": tag}], person())
        if as_json:
            print_json(view)
        else:
            show_task(tasks, view)


def log(
    task_id: Annotated[str | None, typer.Argument(help="Only this task's events.")] = None,
    limit: Annotated[
        int, typer.Option(help="How many, the newest first.", min=1, max=100_000)
    ] = 20,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Show who changed what."""
    with opened(folder) as tasks:
        events = tasks.history(task_id, limit=limit)
        times = [local_time(tasks, str(event["at"])) for event in events]
        lines = [event_line(tasks, event) for event in events]
    if as_json:
        print_json(events)
        return
    if not events:
        typer.echo("No events.")
        return
    console = Console()
    if console.width < NARROW:
        for event, line in zip(events, lines, strict=True):
            console.print(Text(f"{event['event_id']} ").append_text(line))
        return
    table = Table("event")
    table.add_column("when", no_wrap=True)
    for title in ("who", "did", "task", "changes"):
        table.add_column(title)
    for event, at in zip(events, times, strict=True):
        undone = f" (undone by {event['undone_by']})" if "undone_by" in event else ""
        cells = (
            str(event["event_id"]),
            at,
            str(event["caller"]),
            f"{event['action']}{undone}",
            f"{str(event['task_id'])[:8]} {event['name']}",
            changes_line(event),
        )
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


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
    tell("restored", views, as_json)
