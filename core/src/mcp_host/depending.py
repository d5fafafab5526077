"""What a loaded host's lists were made of: the files and variables that a saved catalogue names."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import importlib_metadata

from .inventory import Inventory
from .packs import Declared
from .saved import Dependencies
from .settings import Settings

OWN_DISTRIBUTIONS = ("mcp-host", "mcp", "mcp-types", "pydantic", "pydantic-core")


def dependencies(inventory: Inventory, variables: Iterable[str] = ()) -> Dependencies:
    """The files and variables of an inventory; `variables` are those its own command reads."""
    files: list[str] = []
    for distribution in OWN_DISTRIBUTIONS:
        files += _metadata_file(distribution)
    files += _local_files(Path(__file__).with_name("__init__.py"), "mcp-host")
    names = list(variables)
    for pack in inventory.packs.values():
        if pack.declared is not None and pack.name != "host":
            files += _pack_files(pack.declared)
            names += getattr(pack.declared.settings_model, "reads_environment", ())
    secrets = inventory.settings.secrets.variables
    return Dependencies(
        files=tuple(dict.fromkeys(files)),
        variables=tuple(sorted(set(names) - secrets)),
        secret_variables=tuple(sorted(secrets)),
        secret_files=_secret_files(inventory.settings),
    )


def _pack_files(declared: Declared) -> list[str]:
    offer = declared.offer
    module = sys.modules.get(offer.module.partition(":")[0].partition(".")[0])
    place = getattr(module, "__file__", None)
    files = _metadata_file(offer.distribution)
    return files + (_local_files(Path(place), offer.distribution) if place else [])


def _metadata_file(distribution: str) -> list[str]:
    """The file that an installer writes anew with every version."""
    try:
        found = importlib_metadata.distribution(distribution)
    except importlib_metadata.PackageNotFoundError:
        return []
    place = getattr(found, "_path", None)  # the one place that knows; absent, the folder tells
    return [str(Path(place) / "METADATA")] if place is not None else []


def _local_files(module: Path, distribution: str) -> list[str]:
    """The sources of a package that was not installed as a copy, and may be edited in place.

    `module` is the package's own file, or the one file of a pack that has no more.
    """
    is_package = module.name == "__init__.py"
    place = module.parent if is_package else module
    metadata = _metadata_file(distribution)
    is_copy = place.parent.name in ("site-packages", "dist-packages")
    if metadata and is_copy and Path(metadata[0]).parent.parent == place.parent:
        return []
    return [str(path) for path in sorted(place.rglob("*.py"))] if is_package else [str(module)]


def _secret_files(settings: Settings) -> tuple[str, ...]:
    return tuple(sorted(settings.secrets.files))
