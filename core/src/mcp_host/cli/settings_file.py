"""Edits of a person's settings file, which keep its comments and order."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from ..settings.loading import load
from ..startup.trust import is_trusted, trust, write_atomically


def set_enabled(path: Path, name: str, enabled: bool) -> None:
    """Enable or disable a pack in a settings file, which stays trusted if it was."""
    table = load(path).packs.get(name)
    if table is not None and table.enabled is enabled:
        return
    document = tomlkit.parse(path.read_text("utf-8"))
    packs = document.setdefault("packs", tomlkit.table(is_super_table=True))
    if name not in packs:
        packs[name] = tomlkit.table()
    packs[name]["enabled"] = enabled
    trusted = is_trusted(path)
    file = path.resolve()  # a link to it stays one
    write_atomically(file, tomlkit.dumps(document).encode(), file.stat().st_mode & 0o777)
    if trusted:
        trust(path)
