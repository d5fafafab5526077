"""The plan of the folder that a command runs in, and how it is printed."""

import getpass
import json
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UnavailableError
from ..service import Caller, Plan, Tasks
from ..storage import Home, Project, open_store

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Folder = Annotated[
    Path, typer.Option("--project", "-p", help="The project's folder, or one inside it.")
]
HERE = Path()


def person() -> Caller:
    """Return who runs the command, by the account's name."""
    try:
        return Caller(getpass.getuser())
    except (OSError, KeyError):  # an account without a name, as in some containers
        return Caller("person")


def find_project(folder: Path) -> Project:
    return Home.of_user().project(folder.resolve())


@contextmanager
def opened(folder: Path) -> Iterator[Tasks]:
    """Open the plan of a folder."""
    project = find_project(folder)
    if not project.is_made:
        raise UnavailableError(
            f"The plan of {project.folder} has no store yet.",
            reason="no_store",
            suggestions=["Run: tasky project init"],
        )
    tasks = Tasks(open_store(project.location), Plan.of_project(project))
    try:
        yield tasks
    finally:
        tasks.close()


def plain(text: object) -> str:
    """Return a text as a terminal may show it: what agents wrote steers nobody's terminal."""
    return "".join(
        one if one in "\n\t" or unicodedata.category(one) != "Cc" else "�" for one in str(text)
    )


def local_time(tasks: Tasks, at: str) -> str:
    """Return an instant in the project's zone, to the minute."""
    moment = datetime.fromisoformat(at).astimezone(tasks.plan.zone)
    return moment.strftime("%Y-%m-%d %H:%M")


def print_line(value: Any) -> None:
    """Print JSON on one line, for programs that read line by line."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
