"""`mcp-host enable`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import SettingsError
from ..packs.discovery import discover
from .brought import learn
from .common import ConfigOption, chosen_file
from .completion import installed_packs
from .settings_file import brings_itself, set_enabled


def enable(
    name: Annotated[str, typer.Argument(help="The pack.", autocompletion=installed_packs)],
    config: ConfigOption = None,
) -> None:
    """Enable a pack."""
    path = chosen_file(config)
    offers = discover()
    if name not in offers and not brings_itself(path, name):
        known = ", ".join(offers) or "none"
        raise SettingsError(f"no pack '{name}' is installed; installed are: {known}")
    set_enabled(path, name, True)
    print(f"{name} is enabled in {path}.")
    learn(path, [name])
