"""What the servers behind packs list, learned where a pack comes into the settings."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..errors import SettingsError
from ..settings.loading import load
from .common import loaded, quiet_logs, say


def learn(path: Path, names: Collection[str] | None = None) -> None:
    """Have each enabled pack declare that a worker of another distribution serves.

    A mounted server is started for it, unless what it lists was kept before; so the first list of
    a client has it. `names` are the packs, all of the file where it is None. What goes wrong is
    said on standard error: the pack is tried again when the host serves.
    """
    try:
        settings = load(path)
    except SettingsError as error:
        say(f"what its servers list is learned later: {error}")
        return
    packs = {
        name: table
        for name, table in settings.packs.items()
        if table.enabled and name in settings.workers and (names is None or name in names)
    }
    if not packs:
        return
    quiet_logs(settings)
    inventory = loaded(settings.replace(packs=packs, locked={}))
    try:
        for pack in inventory.packs.values():
            if pack.declared is None:
                say(pack.sentence)
    finally:
        inventory.close()
