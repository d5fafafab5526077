"""`tasky project`: make a project, list those that are known, tell about one."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import TaskyError
from ..storage import Home, open_store
from .plan import HERE, AsJson, Folder, existing, find_project, opened, plain, print_json

app = typer.Typer(no_args_is_help=True)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")] = HERE,
    store: Annotated[
        str | None, typer.Option(help="sqlite (the default), json, or a postgresql:// URL.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="By default the folder's name.")] = None,
    description: Annotated[str, typer.Option(help="What the project is about.")] = "",
    timezone: Annotated[
        str | None, typer.Option(help="IANA name; by default this machine's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a project in this folder. An existing one is opened, and upgraded after a copy."""
    home = Home.of_user()
    folder = _folder(folder)
    place = home.plan_folder(folder)
    if store is None:
        # A project of the existing Tasky keeps its store.
        store = "sqlite"
        if (place / ".tasky").is_dir() and (place / ".tasky") != home.folder.resolve():
            store = home.project_at(place).location.kind
            if store == "postgresql":
                store = home.project_at(place).location.url
    is_new = not (place / ".tasky").exists()
    project = home.init(folder, store=store, name=name, description=description, zone=timezone)
    try:
        open_store(project.location).close()
    except TaskyError:
        # With a project that can be neither opened nor made anew, nobody could go on.
        if is_new:
            home.forget(project)
        raise
    home.registry.register(
        project.folder,
        project.id,
        project.name,
        project.location.url if project.location.kind == "postgresql" else None,
    )
    if as_json:
        print_json({"name": project.name, "path": str(place), "store": project.location.kind})
        return
    Console().print(
        Text(plain(f"{project.name}: the plan is kept in {project.location.shown}")), soft_wrap=True
    )


def _folder(said: Path) -> Path:
    """Return the folder that is to be a project; it may still have to be made."""
    try:
        found = said.resolve()
    except OSError:  # the working folder was taken away
        return existing(said)
    return existing(said) if found.exists() else found


@app.command("list")
def list_projects(as_json: AsJson = False) -> None:
    """List the projects of this user."""
    entries = [
        {"name": str(one.get("name", "")), "path": str(one["path"]), "is_there": _is_there(one)}
        for one in Home.of_user().registry.projects()
    ]
    if as_json:
        print_json(entries)
        return
    table = Table()
    for title in ("name", "path", ""):
        table.add_column(title, overflow="fold")  # a path that is cut is of no use
    for entry in entries:
        gone = "" if entry["is_there"] else "is gone"
        table.add_row(Text(plain(entry["name"])), Text(plain(entry["path"])), gone)
    Console().print(table)


def _is_there(entry: dict[str, Any]) -> bool:
    return (Path(entry["path"]) / ".tasky").is_dir()


@app.command()
def info(folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Tell about a project: its store, time zone and counts."""
    project = find_project(folder)
    with opened(folder) as tasks:
        about = {**tasks.info(), "path": str(project.folder), "place": project.location.shown}
    if as_json:
        print_json(about)
        return
    table = Table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name in ("name", "description", "path", "place", "store", "time_zone", "total"):
        table.add_row(name, Text(plain(about[name])))
    counts = about["task_counts"]
    assert isinstance(counts, dict)
    for status, count in counts.items():
        table.add_row(status, str(count))
    Console().print(table)
