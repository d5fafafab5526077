"""The commands that carry plans around: import, export, migrate."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidError, UnavailableError
from ..storage import Home, open_store
from .plan import HERE, AsJson, Folder, find_project, opened, person, print_json

_AT_ONCE = 10_000


def import_tasks(
    file: Annotated[Path, typer.Argument(help="What export wrote, or a tasks.json; - is stdin.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Try it, keep nothing.")] = False,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Take in tasks, all or none; those that are here already stay as they are."""
    items = _items(file)
    with opened(folder) as tasks:
        views, known = tasks.bring_in(items, person(), dry_run=dry_run) if items else ([], 0)
    if as_json:
        print_json({"imported": len(views), "already_there": known, "dry_run": dry_run})
        return
    would = "would be " if dry_run else ""
    typer.echo(f"{len(views)} {would}imported, {known} were here already")


def export_tasks(
    file: Annotated[Path | None, typer.Argument(help="Where to; stdout by default.")] = None,
    folder: Folder = HERE,
) -> None:
    """Write all tasks as JSON."""
    with opened(folder) as tasks:
        text = json.dumps({"tasks": tasks.everything()}, ensure_ascii=False, indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UnavailableError(
            f"{file} cannot be written: {error.strerror}.", reason="bad_file"
        ) from error


def migrate(
    store: Annotated[str, typer.Argument(help="sqlite, json, or a postgresql:// URL.")],
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Move the plan, history included, to another store. The old one stays as a backup."""
    home = Home.of_user()
    project = find_project(folder)
    if not project.is_made:
        raise UnavailableError(f"The plan of {project.folder} has no store yet.", reason="no_store")
    target = home.target(project, store)
    if target == project.location:
        raise InvalidError(f"The plan is kept in {target.shown} already.", reason="same_store")
    other = open_store(target)
    try:
        with opened(folder) as tasks:
            moved = tasks.copy_to(other, lambda: home.move(project, store))
    finally:
        other.close()
    if as_json:
        print_json({"tasks": moved, "store": target.kind})
        return
    typer.echo(f"{moved} tasks moved to {target.shown}; {project.location.shown} stays as it was")


def _items(file: Path) -> list[Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
        data = json.loads(text)
    except OSError as error:
        raise UnavailableError(
            f"{file} cannot be read: {error.strerror}.", reason="bad_file"
        ) from error
    except ValueError as error:
        raise InvalidError(f"{file} is not JSON: {error}.", reason="bad_file") from error
    found = data.get("tasks") if isinstance(data, dict) else data
    if isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, list):
        raise InvalidError(
            f"{file} holds no tasks.",
            reason="bad_file",
            suggestions=["Give an array of tasks, what export wrote, or a tasks.json."],
        )
    if len(found) > _AT_ONCE:
        raise InvalidError(
            f"{file} holds {len(found):,} tasks; {_AT_ONCE:,} are taken at once.",
            reason="too_many_items",
            suggestions=["Part the file."],
        )
    return found
