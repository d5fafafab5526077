"""`mcp-host install` and `uninstall`: tell a client of this host, or let it forget it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..trust import user_file
from .clients import (
    CLIENTS,
    SERVER_NAME,
    Change,
    Client,
    apply,
    file_of,
    find,
    plan_install,
    plan_uninstall,
    this_host,
)
from .common import ConfigOption, JsonOption, Output, chosen_file

if TYPE_CHECKING:
    from ..settings import Settings

ClientName = Annotated[
    str, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.", show_default=False)
]
ServerName = Annotated[str, typer.Option("--name", help="The server's name in the client.")]
Project = Annotated[
    Path | None,
    typer.Option(help="Use the client's file in this project's folder.", show_default=False),
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
    dry_run: DryRun = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a client to start this host: one entry of its file changes, and a copy is kept."""
    from ..settings import load

    found = find(client)
    settings_file = chosen_file(config).absolute()
    launch = this_host(settings_file, root or _root(load(settings_file), settings_file))
    change = plan_install(found, file_of(found, project), launch, name)
    _carry_out(change, found, dry_run, as_json, f"{found.title} will start {name}", found.after)


def uninstall(
    client: ClientName,
    name: ServerName = SERVER_NAME,
    project: Project = None,
    dry_run: DryRun = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a client forget this host; its other servers stay. The settings file is not needed."""
    found = find(client)
    change = plan_uninstall(found, file_of(found, project), name)
    _carry_out(change, found, dry_run, as_json, f"{found.title} no longer knows {name}")


def _root(settings: Settings, settings_file: Path) -> Path | None:
    """The project that the client's host is about: clients start it in any folder they like."""
    if settings.host.root is not None:
        return settings.host.root
    is_of_project = settings_file.resolve() != user_file().resolve()
    folder = settings_file.parent
    return folder if is_of_project and folder not in (Path.home(), Path(folder.anchor)) else None


def _carry_out(
    change: Change, client: Client, dry_run: bool, as_json: bool, done: str, then: str = ""
) -> None:
    output = Output()
    copy = apply(change) if change.is_needed and not dry_run else None
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
