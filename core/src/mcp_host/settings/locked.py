"""The lock file beside a settings file: what a person has agreed to of each pack in it.

It is JSON that people may read and compare: each entry of a pack's lists as it was shown, secrets
masked, with a fingerprint of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import SettingsError
from ..startup.dataclass import dataclass
from ..startup.digests import sha256
from ..startup.trust import write_atomically
from .lock_place import lock_file

FORMAT = 1
EntryKey: TypeAlias = tuple[str, str]
"""The kind of an entry (tool, resource, template, prompt, instructions, skill), and its name."""


@dataclass(frozen=True)
class LockedPack:
    """What was agreed to of one pack: where it comes from, and its entries as plain data."""

    distribution: str
    version: str
    entries: Mapping[EntryKey, Any]
    fingerprints: Mapping[EntryKey, str]


def locked_pack(distribution: str, version: str, entries: Mapping[EntryKey, Any]) -> LockedPack:
    """Return what is agreed to of a pack, with the fingerprints of its entries."""
    prints = {key: fingerprint(entry) for key, entry in entries.items()}
    return LockedPack(distribution, version, dict(entries), prints)


def fingerprint(entry: Any) -> str:
    """Return a word for plain data that is the same where the data is, in whatever order."""
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def read_lock(source: Path) -> dict[str, LockedPack]:
    """Return what is agreed to, by the names of packs; nothing where there is no lock file.

    `SettingsError` where the file cannot be used: nothing is served then that it might withhold.
    """
    path = lock_file(source)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        whole = json.loads(data)
        if whole["format"] != FORMAT:
            raise SettingsError(f"{path}: is of another version of mcp-host; lock the packs anew")
        return {str(name): _read(pack) for name, pack in whole["packs"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SettingsError(
            f"{path}: is damaged; restore it, or remove it and lock the packs anew"
        ) from None


def write_lock(source: Path, packs: Mapping[str, LockedPack]) -> Path:
    """Write the lock file of a settings file, or remove it where it would hold no pack."""
    path = lock_file(source)
    if not packs:
        path.unlink(missing_ok=True)
        return path
    data = {"format": FORMAT, "packs": {name: _written(packs[name]) for name in sorted(packs)}}
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    text = json.dumps(data, indent=2, ensure_ascii=True)  # what is invisible shows as \u200b
    write_atomically(path.resolve(), f"{text}\n".encode(), mode)
    return path


def _read(pack: Mapping[str, Any]) -> LockedPack:
    entries = {(str(one["kind"]), str(one["name"])): one["entry"] for one in pack["entries"]}
    found = locked_pack(str(pack["distribution"]), str(pack["version"]), entries)
    for one in pack["entries"]:
        if one["fingerprint"] != found.fingerprints[str(one["kind"]), str(one["name"])]:
            raise ValueError("an entry was edited")
    return found


def _written(pack: LockedPack) -> dict[str, Any]:
    entries = [
        {
            "kind": kind,
            "name": name,
            "fingerprint": pack.fingerprints[kind, name],
            "entry": pack.entries[kind, name],
        }
        for kind, name in sorted(pack.entries)
    ]
    return {"distribution": pack.distribution, "version": pack.version, "entries": entries}
