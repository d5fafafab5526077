"""What a folder has to serve: its packs, their files, and settings to serve them with."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tomli_w
from mcp_host import SettingsError

GROUP = "mcp_host.packs"
SETTINGS = "mcp-host.toml"
_SKIPPED = {"__pycache__", ".git", "node_modules"}


@dataclass(frozen=True)
class Project:
    """A folder in which packs are written.

    `packs` are those that are replaced when their files change: names, each with the folder or the
    file of its code. `settings` is the person's own file, where there is one, and `files` are those
    of packs that are single files and stand in no settings.
    """

    folder: Path
    settings: Path | None
    packs: Mapping[str, Path]
    files: Mapping[str, str] = field(default_factory=dict)

    def tables(self) -> dict[str, Any]:
        """Return settings that serve the packs, each in a process of its own."""
        tables = {} if self.settings is None else _read(self.settings)
        tables.pop("http", None)  # it is served on loopback alone, to whoever is on this machine
        packs = tables.setdefault("packs", {})
        for name in self.packs:
            packs[name] = {**packs.get(name, {}), "enabled": True, "isolation": "process"}
            if name in self.files:
                packs[name]["file"] = f"./{self.files[name]}"
        return tables

    def write(self, path: Path) -> None:
        """Write these settings beside the person's own, so that relative paths mean the same."""
        path.write_text(tomli_w.dumps(self.tables()), "utf-8")

    def state(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return size and time of each file of each pack, to be compared later."""
        return {name: _state(place) for name, place in self.packs.items()}

    def settings_state(self) -> tuple[int, int] | None:
        """Return size and time of the person's settings file."""
        return None if self.settings is None else _stat(self.settings)


def find(path: Path) -> Project:
    """Return what a path has to serve: a folder with a pack or settings, a settings file, or a
    single file that is a pack."""
    path = path.absolute()
    if path.suffix == ".py" and path.is_file():
        return Project(path.parent, None, {_name_of(path): path}, {_name_of(path): path.name})
    if path.suffix == ".toml" and path.is_file() and path.name != "pyproject.toml":
        folder, settings = path.parent, path
    else:
        folder = path.parent if path.name == "pyproject.toml" else path
        settings = folder / SETTINGS
    if not folder.is_dir():
        raise SettingsError(f"{folder} must be a folder with a pack, or a settings file")
    own = _own_packs(folder)
    found = settings if settings.is_file() else None
    tables = {} if found is None else _read(found).get("packs", {})
    names = list(own) or [name for name, table in tables.items() if table.get("enabled", True)]
    if not names:
        raise SettingsError(
            f"{folder} has no pack to serve: no pyproject.toml with entry points of the group "
            f"{GROUP}, and no {SETTINGS} that enables one; make a pack with: mcp-host new NAME"
        )
    places = {
        name: folder / tables[name]["file"]
        if "file" in tables.get(name, {})
        else _place(name, folder, is_own=name in own)
        for name in names
    }
    return Project(folder, found, {name: place for name, place in places.items() if place})


def changed(
    before: Mapping[str, Mapping[str, object]], after: Mapping[str, Mapping[str, object]]
) -> list[str]:
    """Return the packs whose files are not as they were."""
    return [name for name, state in after.items() if before.get(name) != state]


def _name_of(file: Path) -> str:
    """Return the name of a pack that is a single file."""
    name = file.stem.lower().replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        raise SettingsError(
            f"the name of {file.name} must make a pack's name: a letter, then up to 31 letters, "
            "digits and underscores"
        )
    return name


def _own_packs(folder: Path) -> Iterable[str]:
    file = folder / "pyproject.toml"
    if not file.is_file():
        return ()
    points = _read(file).get("project", {}).get("entry-points", {})
    found: Iterable[str] = points.get(GROUP, {})
    return found


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


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None


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
