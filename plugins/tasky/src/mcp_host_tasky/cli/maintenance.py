"""The commands that look after a plan: check, backup, resolve."""

import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidError
from ..storage import JsonFile, made_whole
from .plan import HERE, AsJson, Folder, find_project, opened, plain, print_json


def check(folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Look for damage in the plan; the exit code is 1 where there is any."""
    with opened(folder) as tasks:
        found = tasks.check()
    if as_json:
        print_json({"ok": not found, "findings": found})
    else:
        for line in found:
            typer.echo(plain(line))
        if not found:
            typer.echo("no damage found")
    if found:
        raise typer.Exit(1)


def backup(
    file: Annotated[
        Path | None, typer.Argument(help="A new SQLite file; by default one beside the plan.")
    ] = None,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Copy the plan with its history into an SQLite file, while others go on working.

    To go back to it, put it in the place of .tasky/tasks.db of a project with an SQLite store.
    """
    project = find_project(folder)
    if file is None:
        stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
        file = project.folder / ".tasky" / f"backup-{stamp}.db"
    if file.exists():
        raise _is_there(file)
    with opened(folder, is_cut_too=True) as tasks:
        try:
            with made_whole(file) as new:
                count, is_whole = tasks.back_up(new)
        except FileExistsError as error:
            raise _is_there(file) from error
    if as_json:
        print_json({"tasks": count, "file": str(file), "damaged": not is_whole})
        return
    typer.echo(plain(f"{count} tasks copied to {file}"))
    if not is_whole:
        typer.echo(
            "What is damaged was copied as far as it can be read; see: tasky check", err=True
        )


def _is_there(file: Path) -> InvalidError:
    return InvalidError(
        f"{file} is there already.",
        reason="file_exists",
        suggestions=["Name a file that is not there yet."],
    )


def resolve(folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Resolve what a merge left in a JSON plan: our side stays, theirs is kept in a note; what one
    side deleted and the other changed stays."""
    project = find_project(folder)
    location = project.location
    if location.kind != "json" or location.path is None:
        raise InvalidError(
            f"The plan of {project.folder} is not kept in JSON files, which alone git merges.",
            reason="not_json",
        )
    files = JsonFile(location.path, location.shared).resolve()
    if as_json:
        print_json({"resolved": list(map(str, files))})
        return
    for file in files:
        typer.echo(plain(f"resolved: {file}"))
    if not files:
        typer.echo("nothing to resolve")
        return
    told = files[0] if len(files) == 1 else files[0].parent
    typer.echo(plain(f"Tell git with: git add --all {shlex.quote(os.path.relpath(told))}"))
