"""Which packs are meant: those of the project in a folder, or one that is installed."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp_host import SettingsError, WrittenPacks


class Meant(NamedTuple):
    """A pack to check: its plugin module or its file, or neither of one that is installed."""

    name: str
    module: str | None = None
    file: Path | None = None


def is_path(text: str) -> bool:
    """Whether what is to be checked is a path, and no name."""
    return text.endswith(".py") or not text.isidentifier()


def written_packs(path: Path) -> list[Meant]:
    """The packs that are written at a path.

    Their sources can be imported from then on, whether they are installed or not.
    """
    written = WrittenPacks.at(path)
    written.install_here()
    modules = [Meant(name, module=module) for name, module in written.modules.items()]
    return [*modules, *(Meant(name, file=file) for name, file in written.files.items())]


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
