"""`mcp-host init` and `mcp-host trust`: a settings file of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingsError
from ..trust import FILE_NAME, is_trusted, write_atomically
from ..trust import trust as record_trust
from .common import ConfigOption

Names = Annotated[list[str] | None, typer.Argument(help="Packs to enable.")]


def init(
    names: Names = None,
    all_packs: Annotated[bool, typer.Option("--all", help="Enable every installed pack.")] = False,
    config: ConfigOption = None,
) -> None:
    """Write a settings file; asks which packs to enable, unless told."""
    import tomli_w

    from ..packs import discover, summary

    path = (config or Path(FILE_NAME)).absolute()
    if path.exists():
        trusted = config is not None or is_trusted(path)
        advice = "enable packs with: mcp-host enable NAME"
        if not trusted:
            advice = f"look at it, then run: mcp-host trust {path}"
        raise SettingsError(f"{path} is there already; {advice}")
    offers = discover()
    if not offers:
        print('No packs are installed yet. For example: pip install "mcp-host[tasky]"')
    for name in names or []:
        if name not in offers:
            known = ", ".join(offers) or "none"
            raise SettingsError(f"no pack '{name}' is installed; installed are: {known}")
    if all_packs:
        wanted = list(offers)
    elif names:
        wanted = list(dict.fromkeys(names))
    elif sys.stdin.isatty():
        wanted = [
            name
            for name, found in offers.items()
            if typer.confirm(f"Enable {name} ({summary(found[0])})?", default=True, err=True)
        ]
    elif offers:
        raise typer.BadParameter(
            f"name the packs to enable, or --all; installed: {', '.join(offers)}"
        )
    else:
        wanted = []
    if not path.parent.is_dir():
        raise SettingsError(f"{path.parent} is no folder")
    data = tomli_w.dumps({"packs": {name: {"enabled": True} for name in wanted}} if wanted else {})
    write_atomically(path, data.encode(), 0o644)
    record_trust(path)
    print(f"Wrote {path} with {', '.join(wanted) or 'no packs'} enabled.")
    print("Next: `mcp-host doctor` looks whether all is well,")
    print("      `mcp-host install CLIENT` connects a client (claude-desktop, cursor, vscode, …).")


def trust(
    path: Annotated[Path, typer.Argument(help="The settings file.")] = Path(FILE_NAME),
) -> None:
    """Say that a settings file may be read: that you have looked at it and want what it says."""
    from ..settings import load

    path = path.absolute()
    record_trust(path)
    try:
        tables = load(path).packs.items()
    except SettingsError as error:  # a secret may be set only where the host runs
        print(f"{path} is trusted until it changes. As it is read here: {error}")
        return
    enabled = [name for name, table in tables if table.enabled]
    print(f"{path} is trusted until it changes; it enables {', '.join(enabled) or 'no packs'}.")
