"""The commands that carry plans around: import, export, migrate."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConflictError, InvalidError, UnavailableError
from ..service.formats import bound_for, found_in, named, records_of
from ..storage import Home, files_of, open_store, write_files
from .plan import HERE, AsJson, Folder, find_project, opened, person, plain, print_json

_SHOWN_WARNINGS = 10
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="tasky, beads, task-master, backlog, github, markdown, openspec or csv; an import "
        "finds it by looking.",
    ),
]


def import_tasks(
    file: Annotated[
        Path, typer.Argument(help="A file or folder of another tool, or an export; - is stdin.")
    ],
    form: FormatName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Try it, keep nothing.")] = False,
    folder: Folder = HERE,
    as_json: AsJson = False,
) -> None:
    """Take in tasks, all or none, from beads, task-master, Backlog.md, GitHub, Markdown check
    lists, OpenSpec, CSV or an export. A second import brings what has changed there since."""
    files, found = files_of(file, named(form).name if form else None)
    if not files:
        raise InvalidError(f"{file} holds no tasks.", reason="bad_file")
    kind = named(found) if found else found_in(*next(iter(files.items())))
    records = records_of(kind, files)
    if not records and kind.name in ("markdown", "openspec"):
        raise InvalidError(
            f"{file} holds no item of a check list.",
            reason="bad_file",
            suggestions=["An item is a line such as: - [ ] Buy seeds"],
        )
    with opened(folder) as tasks:
        report = tasks.bring_in(records, kind.name, person(), dry_run=dry_run)
    if as_json:
        counts = {"imported": report.created, "updated": report.updated}
        rest = {"already_there": report.unchanged, "dry_run": dry_run, "format": kind.name}
        print_json({**counts, **rest, "warnings": report.warnings})
        return
    would = "would be " if dry_run else ""
    known = f"{report.unchanged} were here already"
    told = f"{report.created} {would}imported, {report.updated} {would}updated, {known}"
    typer.echo(f"{told} ({kind.name})")
    for warning in report.warnings[:_SHOWN_WARNINGS]:
        typer.echo(plain(warning))
    if len(report.warnings) > _SHOWN_WARNINGS:
        typer.echo(f"and {len(report.warnings) - _SHOWN_WARNINGS} more of these")


def export_tasks(
    file: Annotated[
        Path | None,
        typer.Argument(help="Where to, a folder where there are several files; stdout by default."),
    ] = None,
    form: FormatName = None,
    folder: Folder = HERE,
) -> None:
    """Write all tasks as JSON, or as another tool reads them."""
    kind = bound_for(named(form or "tasky"), file.absolute().as_posix() if file else "-")
    with opened(folder) as tasks:
        files = tasks.taken_out(kind)
    if file is not None:
        write_files(file, files)
    elif set(files) <= {""}:
        _print_whole(files.get("", ""))
    else:
        raise InvalidError(
            f"{kind.name} is several files.",
            reason="bad_file",
            suggestions=[f"Name a folder: tasky export FOLDER --format {kind.name}"],
        )


def _print_whole(text: str) -> None:
    """Write a text that is read by programs: in UTF-8, whatever the terminal's letters are."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)


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
    except ConflictError as error:
        if error.reason != "store_not_empty":
            raise
        said = f"{target.shown} is not empty."
        raise ConflictError(said, reason=error.reason, suggestions=error.suggestions) from error
    finally:
        other.close()
    if as_json:
        print_json({"tasks": moved, "store": target.kind})
        return
    typer.echo(f"{moved} tasks moved to {target.shown}; {project.location.shown} stays as it was")
