"""What commands change in a person's settings file, and ask of it."""

from __future__ import annotations

from pathlib import Path

import tomlkit
from tomlkit import TOMLDocument

from ..settings.editing import SettingsFile
from ..settings.loading import load


def brings_itself(path: Path, name: str) -> bool:
    """Whether a settings file says itself what a pack is, so that none need be installed."""
    settings = load(path)
    table = settings.packs.get(name)
    return name in settings.workers or (table is not None and table.file is not None)


def set_enabled(path: Path, name: str, enabled: bool) -> None:
    """Enable or disable a pack in a settings file, which stays trusted if it was."""
    table = load(path).packs.get(name)
    if table is not None and table.enabled is enabled:
        return

    def change(document: TOMLDocument) -> None:
        packs = document.setdefault("packs", tomlkit.table(is_super_table=True))
        if name not in packs:
            packs[name] = tomlkit.table()
        packs[name]["enabled"] = enabled

    SettingsFile(path).edit(change)
