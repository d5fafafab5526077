"""`mcp-host trust`: say that a settings file may be read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingsError
from ..settings.loading import load
from ..startup.trust import FILE_NAME, trust as record_trust


def trust(
    path: Annotated[Path, typer.Argument(help="The settings file.")] = Path(FILE_NAME),
) -> None:
    """Say that a settings file may be read: that you have looked at it and want what it says."""
    path = path.absolute()
    try:
        record_trust(path)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        tables = load(path).packs.items()
    except SettingsError as error:  # a secret may be set only where the host runs
        print(f"{path} is trusted until it changes. As it is read here: {error}")
        return
    enabled = [name for name, table in tables if table.enabled]
    print(f"{path} is trusted until it changes; it enables {', '.join(enabled) or 'no packs'}.")
