"""Edits of a person's settings file, which keep its comments and order."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from ..settings.loading import load, loads, read, trust_bytes
from ..startup.trust import is_trusted, write_atomically


def brings_itself(path: Path, name: str) -> bool:
    """Whether a settings file says itself what a pack is, so that none need be installed."""
    settings = load(path)
    table = settings.packs.get(name)
    return name in settings.workers or (table is not None and table.file is not None)


def set_enabled(path: Path, name: str, enabled: bool) -> None:
    """Enable or disable a pack in a settings file, which stays trusted if it was."""
    before = read(path)
    table = loads(before, path).packs.get(name)
    if table is not None and table.enabled is enabled:
        return
    document = tomlkit.parse(before.decode())
    packs = document.setdefault("packs", tomlkit.table(is_super_table=True))
    if name not in packs:
        packs[name] = tomlkit.table()
    packs[name]["enabled"] = enabled
    after = tomlkit.dumps(document).encode()
    trusted = is_trusted(path, before)
    file = path.resolve()  # a link to it stays one
    write_atomically(file, after, file.stat().st_mode & 0o777)
    if trusted:
        trust_bytes(path, after)
