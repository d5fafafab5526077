"""`mcp-host disable`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import SettingsError
from ..settings.loading import load
from .common import ConfigOption, chosen_file
from .completion import installed_packs
from .settings_file import set_enabled


def disable(
    name: Annotated[str, typer.Argument(help="The pack.", autocompletion=installed_packs)],
    config: ConfigOption = None,
) -> None:
    """Disable a pack; its settings stay."""
    path = chosen_file(config)
    if name not in load(path).packs:
        raise SettingsError(f"{path} has no [packs.{name}]")
    set_enabled(path, name, False)
    print(f"{name} is disabled in {path}.")
