"""Edits of a person's settings file, which keep its comments and order."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from ..settings.loading import loads, read, trust_bytes
from ..startup.trust import is_trusted, write_atomically


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
