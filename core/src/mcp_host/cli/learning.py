"""What packs list once they are open: what `lock` and `approve` compare and write."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import SettingsError, nearest
from ..host import Host
from ..packs.entry import LISTS
from ..packs.lock import as_it_is
from ..settings.loading import Settings, read, trust_bytes
from ..settings.locked import LockedPack, write_lock
from ..startup.trust import is_trusted
from .common import loaded


def each_in_a_process(settings: Settings) -> Settings:
    """Return the settings with every pack in a process, where none can end or hang this one."""
    if sys.platform == "win32":
        return settings
    return settings.in_processes(settings.packs)


def learned(settings: Settings, names: Sequence[str]) -> dict[str, LockedPack]:
    """Open these packs, and return each as it would be locked now.

    `SettingsError` names a pack that is not enabled, or cannot be opened.
    """
    for name in names:
        _check(settings, name)
    packs = {name: settings.packs[name] for name in names}
    alone = each_in_a_process(settings.replace(packs=packs, locked={}))
    host = Host(loaded(alone), retries=False)
    return asyncio.run(_learned(host))


def write(settings: Settings, packs: dict[str, LockedPack]) -> Path:
    """Write the lock file; settings that were trusted stay so."""
    source = settings.source
    assert source is not None  # a lock is of a settings file
    data = read(source, settings.digest)
    trusted = is_trusted(source, data)
    path = write_lock(source, packs)
    if trusted:
        trust_bytes(source, data)
    return path


def _check(settings: Settings, name: str) -> None:
    if settings.source is None:
        raise SettingsError("there is no settings file; make one with: mcp-host init")
    table = settings.packs.get(name)
    if table is not None and table.enabled:
        return
    enabled = [pack for pack, table in settings.packs.items() if table.enabled]
    near = nearest(name, enabled)
    hint = f"did you mean '{near}'?" if near else f"enabled are: {', '.join(enabled) or 'none'}"
    raise SettingsError(f"no pack '{name}' is enabled in {settings.source}; {hint}")


async def _learned(host: Host) -> dict[str, LockedPack]:
    secrets = host.settings.secrets
    async with host:
        await host.settled()
        found = {}
        for name in host.settings.packs:
            pack = host.packs[name]
            if pack.declared is None or not pack.condition.listed:
                raise SettingsError(f"{pack.sentence}; nothing was locked")
            entries = [entry for what in LISTS for entry in host.catalog.everything(what)]
            own = (entry.contribution for entry in entries if entry.pack == name)
            found[name] = as_it_is(pack.declared, own, secrets)
        return found
