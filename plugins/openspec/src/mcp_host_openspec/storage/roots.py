"""Where the OpenSpec tree of a project is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from .files import exists, is_folder

Source = Literal["nearest", "implicit", "configured", "OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT"]


FOLDER: Final = "openspec"
"""What a tree is called, unless the settings say otherwise."""


class Root(NamedTuple):
    """The folder that holds `openspec/`, and how it was chosen."""

    path: Path
    source: Source
    folder: str = FOLDER
    """What the tree is called in it."""

    @property
    def openspec(self) -> Path:
        """The tree itself."""
        return self.path / self.folder


def from_environment(project: Path, variables: Mapping[str, str], home: Path) -> Root | None:
    """The root that `OPENSPEC_ROOT` names, by itself or with `OPENSPEC_AUTO_PROJECT_ROOT=true`.

    With the second, every project has a place of its own below the root: that of its path
    relative to the home folder, or below `_root` where the project is elsewhere.
    """
    base = variables.get("OPENSPEC_ROOT")
    if not base:
        return None
    root = Path(base).expanduser().absolute()
    if variables.get("OPENSPEC_AUTO_PROJECT_ROOT") != "true":
        return Root(root, "OPENSPEC_ROOT")
    return Root(place_of(project, root, home), "OPENSPEC_AUTO_PROJECT_ROOT")


def place_of(project: Path, base: Path, home: Path) -> Path:
    """Where, below one folder for all projects, a project has its tree."""
    project, home = project.resolve(), home.resolve()
    if project.is_relative_to(home):
        return base / project.relative_to(home)
    return base / "_root" / project.relative_to(project.anchor)


def nearest(start: Path) -> Root | None:
    """The nearest folder, from `start` upwards, whose `openspec/` is a tree."""
    start = start.resolve()
    return next(
        (Root(folder, "nearest") for folder in (start, *start.parents) if is_tree(folder / FOLDER)),
        None,
    )


def is_tree(openspec: Path) -> bool:
    """Whether the folder is a tree: it has specs, changes or a configuration."""
    return (
        is_folder(openspec / "specs")
        or is_folder(openspec / "changes")
        or (is_folder(openspec) and config_file(openspec) is not None)
    )


def is_initialised(openspec: Path) -> bool:
    """Whether there is anything of OpenSpec in the folder already."""
    return is_tree(openspec) or exists(openspec / "project.md")


def config_file(openspec: Path) -> Path | None:
    """A tree's config.yaml or config.yml, if it has one."""
    for name in ("config.yaml", "config.yml"):
        if exists(path := openspec / name):
            return path
    return None


def user_schemas(variables: Mapping[str, str], home: Path) -> Path:
    """Where the reference tool keeps the schemas of a user."""
    data = variables.get("XDG_DATA_HOME")
    return (Path(data) if data else home / ".local" / "share") / "openspec" / "schemas"
