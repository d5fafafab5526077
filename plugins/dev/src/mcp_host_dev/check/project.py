"""Which packs are meant: those of the project in a folder, or one that is installed."""

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_host import SettingsError

GROUP = "mcp_host.packs"


def project_packs(folder: Path) -> dict[str, str]:
    """The packs of a project by their names, with their plugin modules; none where it has none.

    Its sources can be imported from then on, whether it is installed or not.
    """
    file = folder / "pyproject.toml"
    if not file.is_file():
        return {}
    project = _table(_read(file), "project")
    packs = _table(_table(project, "entry-points"), GROUP)
    sources = folder / "src"
    for place in (folder, sources):
        if packs and place.is_dir() and str(place) not in sys.path:
            sys.path.insert(0, str(place))
    return {str(name): str(module) for name, module in packs.items()}


def settings_of(file: Path | None, pack: str) -> Mapping[str, Any]:
    """The settings of a pack in a settings file; none where no file is given."""
    if file is None:
        return {}
    return _table(_table(_table(_read(file), "packs"), pack), "settings")


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None


def _table(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = of.get(key, {})
    return value if isinstance(value, Mapping) else {}
