"""What a folder has to serve: its packs, their files, and settings to serve them with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tomli_w
from mcp_host import SettingsError, WrittenPacks

GROUP = "mcp_host.packs"
_SKIPPED = {"__pycache__", ".git", "node_modules"}


@dataclass(frozen=True)
class Project:
    """A folder in which packs are written.

    `packs` are those that are replaced when their files change: names, each with the folder or the
    file of its code. `written` is what the path named.
    """

    written: WrittenPacks
    packs: Mapping[str, Path]

    @property
    def folder(self) -> Path:
        """Where the packs are written, or their settings."""
        return self.written.folder

    def tables(self) -> dict[str, Any]:
        """Return settings that serve the packs, each in a process of its own."""
        tables = self.written.tables()
        tables.pop("http", None)  # it is served on loopback alone, to whoever is on this machine
        packs = tables.setdefault("packs", {})
        for name in self.packs:
            packs[name] = {**packs.get(name, {}), "enabled": True, "isolation": "process"}
        return tables

    def write(self, path: Path) -> None:
        """Write these settings beside the person's own, so that relative paths mean the same."""
        path.write_text(tomli_w.dumps(self.tables()), "utf-8")

    def state(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return size and time of each file of each pack, to be compared later."""
        return {name: _state(place) for name, place in self.packs.items()}

    def settings_state(self) -> tuple[int, int] | None:
        """Return size and time of the person's settings file."""
        return None if self.written.settings is None else _stat(self.written.settings)


def find(path: Path) -> Project:
    """Return what a path has to serve: a folder with a pack or settings, a settings file, or a
    single file that is a pack."""
    written = WrittenPacks.at(path)
    tables = written.tables().get("packs", {})
    own = [*written.modules, *written.files]
    names = own or [name for name, table in tables.items() if table.get("enabled", True)]
    if not names:
        raise SettingsError(
            f"{written.folder} has no pack to serve: no pyproject.toml with entry points of the "
            f"group {GROUP}, and no mcp-host.toml that enables one; make a pack with: "
            "mcp-host new NAME"
        )
    places = {
        name: written.folder / tables[name]["file"]
        if "file" in tables.get(name, {})
        else written.place(name) or _place(name, written.folder, is_own=name in own)
        for name in names
    }
    return Project(written, {name: place for name, place in places.items() if place})


def changed(
    before: Mapping[str, Mapping[str, object]], after: Mapping[str, Mapping[str, object]]
) -> list[str]:
    """Return the packs whose files are not as they were."""
    return [name for name, state in after.items() if before.get(name) != state]


def _place(name: str, folder: Path, *, is_own: bool) -> Path | None:
    """Return where the code of an installed pack is; None of one that is not edited."""
    points = list(metadata.entry_points(group=GROUP, name=name))
    if not points:
        if is_own:
            raise SettingsError(
                f"the pack {name} of {folder} must be installed, so that the host finds it; run: "
                f"pip install -e {folder}"
            )
        return None
    top = points[0].module.partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    place = origin.parent if spec.submodule_search_locations else origin
    if "site-packages" in place.parts:
        if is_own:
            raise SettingsError(
                f"the pack {name} is served from {place}, a copy: what is written in {folder} "
                f"would not count; run: pip install -e {folder}"
            )
        return None
    return place


def _state(place: Path) -> dict[str, tuple[int, int]]:
    if place.is_file():
        stat = _stat(place)
        return {} if stat is None else {str(place): stat}
    found: dict[str, tuple[int, int]] = {}
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in files:
            path = Path(folder) / name
            stat = _stat(path)
            if stat is not None and not name.endswith((".pyc", "~", ".swp")):
                found[str(path)] = stat
    return found


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns
