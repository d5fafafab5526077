"""The plan at a glance in the terminal: board, graph, watch."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.columns import Columns
from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text
from rich.tree import Tree

from ..errors import InvalidError
from ..service import Caller, Search, Tasks
from ..service.graph import mermaid
from .plan import HERE, AsJson, Folder, followed, opened, plain, print_json, print_line
from .showing import event_line, row_line

_COLUMNS = {
    "in work": Search(claimed_by="*", status="pending"),
    "ready": Search(ready=True),
    "waiting": Search(waiting=True),
    "completed": Search(status="completed"),
}
_COLOURS = {"in work": "cyan", "ready": "green", "waiting": "yellow", "completed": "dim"}
# Nobody in particular: what is ready to them is claimed by nobody at all.
_READER = Caller("board", is_proven=False)
_LOOK_SECONDS = 0.25
_DEEPEST = 12


def board(
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag.")] = None,
    limit: Annotated[int, typer.Option(help="Tasks in a column, 1 to 200.")] = 15,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Show the plan as a board: in work and by whom, ready, waiting, and completed, the last
    first."""
    with opened(folder) as tasks:
        pages = {
            name: (tasks.finished if asked.status == "completed" else tasks.search)(
                asked._replace(tags=tuple(tag or ()), limit=limit), _READER
            )
            for name, asked in _COLUMNS.items()
        }
    if as_json:
        print_json(
            {name: {"total": page.total, "tasks": page.rows} for name, page in pages.items()}
        )
        return
    console = Console()
    width = max(24, console.width // len(pages) - 1)
    panels = []
    for name, page in pages.items():
        rows = [row_line(row) for row in page.rows]
        left = page.total - len(page.rows)
        if left > 0:
            more = "+" if page.has_more else ""
            rows.append(Text(f"and {left:,}{more} more", style="dim"))
        total = f"{page.total:,}{'+' if page.has_more else ''}"
        panels.append(
            Panel(
                Group(*(rows or [Text("nothing", style="dim")])),
                title=f"{name} ({total})",
                border_style=_COLOURS[name],
                width=width,
            )
        )
    console.print(Columns(panels, padding=(0, 0)))


def graph(
    task_id: Annotated[str | None, typer.Argument(help="Only what is around this task.")] = None,
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print it for Mermaid, as a README shows it.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many tasks at most.", min=1, max=1000)] = 200,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Show what waits for what: a task, and below it those that wait for it."""
    if as_mermaid and as_json:
        raise InvalidError("Give --mermaid or --json, not both.", reason="invalid_format")
    with opened(folder) as tasks:
        found = tasks.graph(task_id, limit)
    if as_json:
        print_json(found)
    elif as_mermaid:
        typer.echo(plain(mermaid(found)))
    else:
        _draw(found)


def watch(
    since: Annotated[
        int, typer.Option(help="Begin with so many of the last events.", min=0, max=200)
    ] = 10,
    once: Annotated[bool, typer.Option("--once", help="End after what there is now.")] = False,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Follow the plan: a line for each change, whoever makes it, until Ctrl+C."""
    with followed(folder) as plan:
        tasks = plan()
        last = tasks.last_event()
        for event in tasks.events_after(max(0, last - since), max(1, since)) if since else ():
            _tell(tasks, event, as_json=as_json)
        try:
            while not once:
                time.sleep(_LOOK_SECONDS)
                tasks = plan()
                for event in tasks.events_after(last):
                    _tell(tasks, event, as_json=as_json)
                    last = max(last, int(str(event["event_id"])))
        except KeyboardInterrupt:
            return


def _draw(found: Mapping[str, Any]) -> None:
    nodes = {node["task_id"]: node for node in found["nodes"]}
    after: dict[str, list[str]] = {}
    waits = set()
    for first, second in found["edges"]:
        after.setdefault(first, []).append(second)
        waits.add(second)
    console = Console()
    if not nodes:
        console.print("nothing waits for anything")
        return
    shown: set[str] = set()
    for task_id in nodes:
        if task_id not in waits:
            tree = Tree(_node(nodes[task_id]))
            _branch(tree, task_id, nodes, after, shown, 1)
            console.print(tree)
    if found["is_cut"]:
        console.print(Text("There are more; name a task, or raise --limit.", style="dim"))


def _branch(
    tree: Tree,
    task_id: str,
    nodes: Mapping[str, Any],
    after: Mapping[str, Sequence[str]],
    shown: set[str],
    depth: int,
) -> None:
    """Add what waits for a task; what was shown already is named and not gone through again."""
    for other in after.get(task_id, ()):
        label = _node(nodes[other])
        if other in shown or depth >= _DEEPEST:
            if after.get(other):
                label.append(" …", style="dim")
            tree.add(label)
            continue
        shown.add(other)
        _branch(tree.add(label), other, nodes, after, shown, depth + 1)


def _node(node: Mapping[str, Any]) -> Text:
    styles = {"completed": "green", "cancelled": "strike dim"}
    text = Text()
    text.append(f"{node['task_id'][:8]} ", style="dim")
    text.append(plain(node["name"]), style=styles.get(node["status"], ""))
    if node["status"] != "pending":
        text.append(f" ({node['status']})", style="dim")
    if node["claimed_by"]:
        text.append(f" · {plain(node['claimed_by'])}", style="cyan")
    return text


def _tell(tasks: Tasks, event: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_line(event)
        return
    Console().print(event_line(tasks, event), soft_wrap=True)
