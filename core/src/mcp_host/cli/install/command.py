"""`mcp-host install` and `uninstall`: tell a client of this host, or let it forget it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import (
    ConfigOption,
    JsonOption,
    Output,
    chosen_file,
)
from ..completion import beginning
from .changes import Change, apply, entry_in, is_under_git, plan_install, plan_uninstall
from .clients import CLIENTS, SERVER_NAME, Client, file_of, find, this_host
from .readiness import project_root, refuse_what_cannot_start

ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help=f"One of {', '.join(CLIENTS)}.",
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
    file = file_of(found, project)
    if not force:
        refuse_what_cannot_start(settings_file, found, entry_in(found, file, name))
    launch = this_host(settings_file, root or project_root(settings_file))
    change = plan_install(found, file, launch, name, force=force)
    then = (
        f"{found.after}\nThe entry is switched off there: {change.off}."
        if change.off
        else (found.after)
    )
    copied = backup or project is None or not is_under_git(file)
    _carry_out(change, found, dry_run, copied, as_json, f"{found.title} will start {name}", then)


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
    file = file_of(found, project)
    change = plan_uninstall(found, file, name, force=force)
    copied = backup or project is None or not is_under_git(file)
    _carry_out(change, found, dry_run, copied, as_json, f"{found.title} no longer knows {name}")


def _carry_out(
    change: Change,
    client: Client,
    dry_run: bool,
    copied: bool,
    as_json: bool,
    done: str,
    then: str = "",
) -> None:
    output = Output()
    copy = apply(change, copy=copied) if change.is_needed and not dry_run else None
    if as_json:
        output.json(
            {
                "client": client.name,
                "file": str(change.path),
                "changed": change.is_needed and not dry_run,
                "diff": change.diff,
                "copy": str(copy) if copy else None,
            }
        )
    elif not change.is_needed:
        is_there = change.before is not None
        output.text(f"{done}: {change.path} {'says so already' if is_there else 'is not there'}.")
    elif dry_run:
        output.text(change.diff.removesuffix("\n"))
    else:
        kept = f"What the file was is kept in {copy}." if copy else ""
        output.text("\n".join(filter(None, (f"{done}: {change.path}", kept, then))))
