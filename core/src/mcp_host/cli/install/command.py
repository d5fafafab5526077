"""`mcp-host install` and `uninstall`: tell a client of this host, or let it forget it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...clients.changes import (
    Change,
    apply,
    entry_in,
    is_under_git,
    plan_install,
    plan_uninstall,
)
from ...clients.client import SERVER_NAME, Client, Launch, files_of, this_host
from ...clients.known import CLIENTS, find
from ..common import (
    ConfigOption,
    JsonOption,
    Output,
    chosen_file,
)
from ..completion import beginning
from .readiness import needed_variables, project_root

ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="The client, as `mcp-host clients` names it.",
        show_default=False,
        autocompletion=lambda incomplete: beginning(incomplete, lambda: CLIENTS),
    ),
]
ServerName = Annotated[str, typer.Option("--name", help="The server's name in the client.")]
Project = Annotated[
    Path | None,
    typer.Option(help="Use the client's file in this project's folder.", show_default=False),
]
Backup = Annotated[
    bool,
    typer.Option(
        "--backup", help="Keep a copy of the file also where it is in a project under git."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")]


def install(
    client: ClientName,
    name: ServerName = SERVER_NAME,
    project: Project = None,
    root: Annotated[
        Path | None,
        typer.Option(help="The project's folder, for packs about a project.", show_default=False),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Write also what cannot start as it is, and over another server of that name.",
        ),
    ] = False,
    backup: Backup = False,
    dry_run: DryRun = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a client to start this host: one entry of its file changes, and a copy is kept."""
    found = find(client)
    settings_file = chosen_file(config).absolute()
    launch = this_host(settings_file, root or project_root(settings_file))
    changes = [
        plan_start(found, file, settings_file, launch, name, force=force)
        for file in files_of(found, project)
    ]
    then = found.after
    if off := next((change.off for change in changes if change.off), ""):
        then += f"\nThe entry is switched off there: {off}."
    asked = EditWishes(dry_run, backup, project is not None, as_json)
    _carry_out(changes, found, asked, f"{found.title} will start {name}", then)


def plan_start(
    client: Client,
    file: Path,
    settings_file: Path,
    launch: Launch,
    name: str,
    *,
    force: bool = False,
) -> Change:
    """Plan that a client starts this host, with the variables that its settings need.

    Raises `SettingsError` where it could not start it, unless forced.
    """
    old = entry_in(client, file, name)
    variables = () if force else needed_variables(settings_file, client, old)
    return plan_install(client, file, replace(launch, variables=variables), name, force=force)


def uninstall(
    client: ClientName,
    name: ServerName = SERVER_NAME,
    project: Project = None,
    force: Annotated[
        bool, typer.Option("--force", help="Remove also another server of that name.")
    ] = False,
    backup: Backup = False,
    dry_run: DryRun = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a client forget this host; its other servers stay. The settings file is not needed."""
    found = find(client)
    changes = [plan_uninstall(found, file, name, force=force) for file in files_of(found, project)]
    asked = EditWishes(dry_run, backup, project is not None, as_json)
    _carry_out(changes, found, asked, f"{found.title} no longer knows {name}")


@dataclass(frozen=True)
class EditWishes:
    """How the person wants a change to be made and told."""

    dry_run: bool
    backup: bool
    is_project: bool
    as_json: bool

    def keeps_copy(self, path: Path) -> bool:
        """Whether a copy is kept beside a file."""
        return self.backup or not self.is_project or not is_under_git(path)


def _carry_out(
    changes: list[Change], client: Client, asked: EditWishes, done: str, then: str = ""
) -> None:
    output = Output()
    reports = [_made(change, client, asked) for change in changes]
    if asked.as_json:
        first, *more = reports
        output.json({**first, "more": more} if more else first)
        return
    for change, report in zip(changes, reports, strict=True):
        if not change.is_needed:
            is_there = change.before is not None
            how = "says so already" if is_there else "is not there"
            output.text(f"{done}: {change.path} {how}.")
        elif asked.dry_run:
            output.text(change.diff.removesuffix("\n"))
        else:
            copy = report["copy"]
            kept = f"What the file was is kept in {copy}." if copy else ""
            output.text("\n".join(filter(None, (f"{done}: {change.path}", kept))))
    if then and not asked.dry_run and any(change.is_needed for change in changes):
        output.text(then)


def _made(change: Change, client: Client, asked: EditWishes) -> dict[str, Any]:
    """Make a change, unless it is only to be shown; what there is to tell of it."""
    is_made = change.is_needed and not asked.dry_run
    copy = apply(change, copy=asked.keeps_copy(change.path)) if is_made else None
    return {
        "client": client.name,
        "file": str(change.path),
        "changed": is_made,
        "diff": change.diff,
        "copy": str(copy) if copy else None,
    }
