"""Where the OpenSpec tree of a project is."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["nearest", "implicit", "configured", "OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT"]


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that holds `openspec/`, and how it was chosen."""

    path: Path
    source: Source

    @property
    def openspec(self) -> Path:
        """The tree itself."""
        return self.path / "openspec"


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
    project, home = project.resolve(), home.resolve()
    inside = project.relative_to(home) if project.is_relative_to(home) else None
    below = inside if inside is not None else Path("_root") / project.relative_to(project.anchor)
    return Root(root / below, "OPENSPEC_AUTO_PROJECT_ROOT")


def nearest(start: Path) -> Root | None:
    """The nearest folder, from `start` upwards, whose `openspec/` is a tree."""
    start = start.resolve()
    return next(
        (Root(folder, "nearest") for folder in (start, *start.parents) if is_tree(folder)), None
    )


def is_tree(project: Path) -> bool:
    """Whether the folder has an `openspec/` with specs, changes or a configuration."""
    openspec = project / "openspec"
    return (
        (openspec / "specs").is_dir()
        or (openspec / "changes").is_dir()
        or (openspec.is_dir() and config_file(project) is not None)
    )


def is_initialised(project: Path) -> bool:
    """Whether there is anything of OpenSpec in the folder already."""
    return is_tree(project) or (project / "openspec" / "project.md").exists()


def config_file(project: Path) -> Path | None:
    """The project's config.yaml or config.yml, if it has one."""
    for name in ("config.yaml", "config.yml"):
        if (path := project / "openspec" / name).exists():
            return path
    return None
