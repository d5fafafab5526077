"""The plan of the folder that a command runs in, and how it is printed."""

import getpass
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidError, MovedError, UnavailableError
from ..service import Caller, Listener, Plan, PlanSettings, Service, Tasks
from ..storage import Home, Project, open_store

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Folder = Annotated[
    Path, typer.Option("--project", "-p", help="The project's folder, or one inside it.")
]
HERE = Path()
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def person() -> Caller:
    """Return who runs the command, by the account's name."""
    try:
        return Caller(getpass.getuser())
    except (OSError, KeyError):  # an account without a name, as in some containers
        return Caller("person")


def find_project(folder: Path) -> Project:
    return Home.of_user().project(existing(folder))


def existing(folder: Path) -> Path:
    """Return a folder's path from the root, where it is there."""
    try:
        found = folder.resolve()
    except OSError as error:
        told = "The working folder is gone." if not folder.is_absolute() else f"{error}."
        raise InvalidError(told, reason="no_folder") from error
    if not found.is_dir():
        what = "is not a folder" if found.exists() else "is not there"
        raise InvalidError(
            f"{found} {what}.",
            reason="no_folder",
            suggestions=["Name the project's folder, or one inside it."],
        )
    return found


@contextmanager
def opened(folder: Path, *, is_cut_too: bool = False) -> Iterator[Tasks]:
    """Open the plan of a folder; if told so, also one whose file was cut short, to copy it."""
    project = find_project(folder)

    def stays() -> None:
        if find_project(folder).location != project.location:
            raise MovedError

    if not project.is_made:
        raise UnavailableError(
            f"The plan of {project.folder} has no store yet.",
            reason="no_store",
            suggestions=["Run: tasky project init"],
        )
    store = open_store(project.location, is_cut_too=is_cut_too)
    tasks = Tasks(store, Plan.of_project(project), stays=stays)
    try:
        yield tasks
    finally:
        tasks.close()


@contextmanager
def followed(folder: Path) -> Iterator[Callable[[], Tasks]]:
    """Open the plan of a folder for long: the function gives it where it is kept now."""

    def told(*_: object) -> None:
        """Nobody waits to hear how the plan is: each look at it says so."""

    settings = PlanSettings(root=existing(folder))
    service = Service(settings, Home.of_user(), Listener(told, told, told), str)
    try:
        service.tasks()
        yield service.tasks
    finally:
        service.close()


def plain(text: object) -> str:
    """Return a text as a terminal may show it: what agents wrote steers nobody's terminal."""
    return "".join("�" if _steers(one) else one for one in str(text))


def _steers(letter: str) -> bool:
    """Whether a letter is a command to the terminal, or turns the order of those around it."""
    if unicodedata.category(letter) in ("Cc", "Cs"):
        return letter not in "\n\t"
    return unicodedata.bidirectional(letter) in _TURNS


def local_time(tasks: Tasks, at: str) -> str:
    """Return an instant in the project's zone, to the minute."""
    return _to_the_minute(at, tasks.plan.zone)


def in_local_time(text: str) -> str:
    """Return a sentence with its instants as this machine's clocks show them, to the minute."""
    return _INSTANT.sub(lambda instant: _to_the_minute(instant.group(), None), text)


def _to_the_minute(at: str, zone: tzinfo | None) -> str:
    """Return an instant in a zone, by default this machine's; what is none, as it is."""
    try:
        moment = datetime.fromisoformat(at).astimezone(zone)
    except (ValueError, OverflowError):
        return at
    return moment.strftime("%Y-%m-%d %H:%M")


def print_line(value: Any) -> None:
    """Print JSON on one line, for programs that read line by line."""
    typer.echo(json.dumps(value, ensure_ascii=not _has_all_letters()))


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=not _has_all_letters(), indent=2))


def _has_all_letters() -> bool:
    """Whether the output takes every letter; JSON has another way to write those it does not."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "").startswith("utf")
