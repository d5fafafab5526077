"""`mcp-host trust`: say that a settings file may be read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingsError
from ..settings.loading import loads, trust as record_trust
from ..startup.trust import FILE_NAME, forget as forget_trust, trusted_code


def trust(
    path: Annotated[Path, typer.Argument(help="The settings file.")] = Path(FILE_NAME),
    forget: Annotated[
        bool, typer.Option("--forget", help="Take it back: the file is not read any more.")
    ] = False,
) -> None:
    """Say that a settings file may be read: that you have looked at it and want what it says."""
    path = path.absolute()
    if forget:
        was = forget_trust(path)
        print(f"{path} is not trusted any more" if was else f"{path} was not trusted")
        return
    data = record_trust(path)
    try:
        tables = loads(data, path).packs.items()
    except SettingsError as error:  # a secret may be set only where the host runs
        print(f"{path} is trusted until it changes. As it is read here: {error}")
        return
    enabled = [name for name, table in tables if table.enabled]
    print(f"{path} is trusted until it changes; it enables {', '.join(enabled) or 'no packs'}.")
    if files := trusted_code(path):
        print(f"So is what it names and runs: {', '.join(files)}")
