"""Packs where they are written: a single file, or a project that need not be installed."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from ..settings.tables.packs import PACK_NAME
from .discovery import GROUP, normalized
from .passing import passing

SETTINGS = "mcp-host.toml"
OWN_SETTINGS = ".mcp-host-dev-{}.toml"
MADE = "mcp-host-written-"
"""What the names of folders begin with that stand for installed projects."""


@dataclass(frozen=True)
class WrittenPacks:
    """What a path names: packs that are written there, and the settings beside them.

    `files` are packs that are single files; `modules` are those that the project in `folder` offers
    in its pyproject.toml, each with its plugin module, and `settings` is its settings file, where
    there is one.
    """

    folder: Path
    settings: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path) -> WrittenPacks:
        """Read what is at a path: a file of Python, a settings file, or a project's folder."""
        path = path.absolute()
        if path.suffix == ".py":
            if not path.is_file():
                raise SettingsError(f"there is no file {path}")
            return cls(path.parent, files={_name_of(path): path})
        folder, settings = path, path / SETTINGS
        if path.name == "pyproject.toml":
            folder, settings = path.parent, path.parent / SETTINGS
        elif path.suffix == ".toml" and path.is_file():
            folder, settings = path.parent, path
        if not folder.is_dir():
            raise SettingsError(
                f"{path} must be a folder with a pack, a file of Python, or a settings file"
            )
        found = settings if settings.is_file() else None
        return cls(folder, found, modules=_offered(_project(folder)))

    def tables(self) -> dict[str, Any]:
        """Return settings that serve these packs, beside those that the settings file enables."""
        tables = {} if self.settings is None else _read(self.settings)
        packs = tables.setdefault("packs", {})
        for name in (*self.modules, *self.files):
            packs[name] = {**packs.get(name, {}), "enabled": True}
        for name, file in self.files.items():
            packs[name]["file"] = str(file)
        return tables

    def place(self, pack: str) -> Path | None:
        """Return where the code of a pack is written; None where it is not in this folder."""
        if pack in self.files:
            return self.files[pack]
        top = self.modules[pack].partition(":")[0].partition(".")[0] if pack in self.modules else ""
        for sources in self._sources if top else ():
            for place in (sources / top, sources / f"{top}.py"):
                if place.exists():
                    return place
        return None

    @property
    def _sources(self) -> tuple[Path, Path]:
        return self.folder / "src", self.folder

    def install_here(self) -> None:
        """Have this process find the project as if it were installed, to its end."""
        if self._is_written_here:
            sys.path[:0] = self._folders
            sys.meta_path.insert(0, _Found(_Metadata(_project(self.folder))))

    @contextmanager
    def installed(self) -> Iterator[list[str]]:
        """Give folders on whose import path the project is as if it were installed.

        They are good until the block ends. What it depends on must be installed.
        """
        if not self._is_written_here:
            yield []
            return
        with passing(lambda: Path(tempfile.mkdtemp(prefix=MADE)), f"{MADE}*") as place:
            _Metadata(_project(self.folder)).write(place)
            yield [str(place), *self._folders]

    @contextmanager
    def own_settings(self) -> Iterator[Path]:
        """Make a file beside the person's settings, for those that serve these packs.

        In this folder relative paths mean the same. The file is there until the block ends.
        """
        path = self.folder / OWN_SETTINGS.format(os.getpid())

        def make() -> Path:
            try:
                path.touch()
            except OSError as error:
                raise SettingsError(f"cannot write {path}: {error.strerror}") from None
            return path

        with passing(make, OWN_SETTINGS.format("*")) as made:
            yield made

    @property
    def _is_written_here(self) -> bool:
        return any(self.place(name) for name in self.modules)

    @property
    def _folders(self) -> list[str]:
        return [str(place) for place in self._sources if place.is_dir()]


class _Metadata(metadata.Distribution):
    """What an installer would leave of a project, by its pyproject.toml."""

    def __init__(self, project: Mapping[str, Any]) -> None:
        name, version = str(project.get("name", "pack")), str(project.get("version", "0"))
        requires = "".join(f"Requires-Dist: {one}\n" for one in project.get("dependencies", ()))
        points = (
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in offered.items())
            for group, offered in project.get("entry-points", {}).items()
        )
        self._folder = f"{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
            "entry_points.txt": "\n".join(points),
        }

    def read_text(self, filename: str) -> str | None:
        """As `importlib.metadata` wants it."""
        return self._texts.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """As `importlib.metadata` wants it; there is no list of files to locate."""
        return Path(path)

    def write(self, place: Path) -> None:
        """Write it into a folder of the import path."""
        folder = place / self._folder
        folder.mkdir()
        for name, text in self._texts.items():
            (folder / name).write_text(text, "utf-8")


class _Found(metadata.DistributionFinder):
    """Has one distribution found in this process."""

    def __init__(self, found: _Metadata) -> None:
        self._found = found

    def find_spec(self, *_: object) -> None:
        """Find no module: they lie in folders of the import path."""

    def find_distributions(
        self, context: metadata.DistributionFinder.Context | None = None
    ) -> Iterator[_Metadata]:
        """As `importlib.metadata` wants it."""
        wanted = None if context is None else context.name
        if wanted is None or normalized(wanted) == normalized(self._found.name):
            yield self._found


def _name_of(file: Path) -> str:
    """Return the name of a pack that is a single file."""
    name = file.stem.lower().replace("-", "_")
    if not re.fullmatch(PACK_NAME, name):
        raise SettingsError(
            f"the name of {file.name} must make a pack's name: a letter, then up to 31 letters, "
            "digits and underscores"
        )
    return name


def _project(folder: Path) -> Mapping[str, Any]:
    file = folder / "pyproject.toml"
    project = _read(file).get("project") if file.is_file() else None
    return project if isinstance(project, Mapping) else {}


def _offered(project: Mapping[str, Any]) -> dict[str, str]:
    points = project.get("entry-points")
    offered = points.get(GROUP) if isinstance(points, Mapping) else None
    return {str(k): str(v) for k, v in offered.items()} if isinstance(offered, Mapping) else {}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
