"""What a loaded host's lists were made of: the files and variables that a saved catalogue names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import metadata
from itertools import chain
from pathlib import Path

from ..declarations.needs import chosen
from ..settings.lock_place import lock_file
from ..startup.saved import Dependencies, names_in
from .declared import Declared
from .inventory import Inventory

HOST = Path(__file__).parents[1] / "__init__.py"
OWN_DISTRIBUTIONS = ("mcp-host", "mcp", "mcp-types", "pydantic", "pydantic-core")


def dependencies(inventory: Inventory, variables: Iterable[str] = ()) -> Dependencies:
    """The files and variables of an inventory; `variables` are those its own command reads."""
    packs = [pack.declared for name, pack in inventory.packs.items() if name != "host"]
    loaded = [declared for declared in packs if declared is not None]
    offers = [declared.offer for declared in loaded]
    sources = _Sources()
    for name in filter(None, (*OWN_DISTRIBUTIONS, *(offer.distribution for offer in offers))):
        sources.files += _metadata_file(name)
    sources.add(HOST, "mcp-host")
    for declared in loaded:
        offer = declared.offer
        if place := declared.file:
            sources.add(Path(place), offer.distribution)
    if (source := inventory.settings.source) is not None:
        sources.files.append(str(lock_file(source)))
    read = [_variables(declared) for declared in loaded]
    secrets = inventory.settings.secrets
    return Dependencies(
        files=tuple(dict.fromkeys(sources.files)),
        folders=tuple(sources.folders),
        variables=tuple(sorted({*variables, *chain(*read)} - secrets.variables)),
        secret_variables=tuple(sorted(secrets.variables)),
        secret_files=tuple(sorted(secrets.files)),
    )


def apart(inventory: Inventory) -> list[str]:
    """The packs that sessions of one process must not share."""
    return sorted(
        name
        for name, pack in inventory.packs.items()
        if pack.declared is not None and name != "host" and not _may_share(pack.declared)
    )


def owners(inventory: Inventory) -> dict[str, dict[str, str]]:
    """The pack of every tool and every prompt, by its public name; and of doubted tools."""
    catalog = inventory.catalog
    doubted = {name: entry for name, entry in catalog.tools.items() if entry.is_doubted}
    tables = {"tools": catalog.tools, "prompts": catalog.prompts, "doubted": doubted}
    return {
        what: {name: entry.pack for name, entry in table.items()} for what, table in tables.items()
    }


def _may_share(declared: Declared) -> bool:
    said = declared.table.sessions
    return declared.needs.may_share if said is None else said == "shared"


def _variables(declared: Declared) -> list[str]:
    """The variables that a pack's settings, and so its lists, may depend on."""
    own = getattr(declared.settings_model, "reads_environment", ())
    names = declared.needs.reads_environment or ()
    exact = [name for name in names if not name.endswith("*")]
    return [*own, *exact, *chosen(names, os.environ)]


class _Sources:
    """The files that packages are made of, where those can be edited in place."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.folders: list[str] = []

    def add(self, module: Path, distribution: str) -> None:
        """Add a package with its data; `module` is its own file, or all that there is of it."""
        if _is_copy(module, distribution):
            return
        if module.name != "__init__.py":
            self.files.append(str(module))
            return
        for folder, inner, _ in os.walk(module.parent):
            names = names_in(folder)
            inner[:] = sorted(set(inner) & set(names))
            self.folders.append(folder)
            self.files += [str(Path(folder, name)) for name in names if name not in inner]


def _metadata_file(distribution: str) -> list[str]:
    """The file that an installer writes anew with every version."""
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return []
    place = getattr(found, "_path", None)  # the one place that knows; absent, the folder tells
    return [str(Path(place) / "METADATA")] if place is not None else []


def _is_copy(module: Path, distribution: str) -> bool:
    """Whether a package was installed as a copy, which nobody edits in place.

    `module` is the package's own file, or the one file of a pack that has no more.
    """
    place = module.parent if module.name == "__init__.py" else module
    about = _metadata_file(distribution) if distribution else []
    is_beside = place.parent.name in ("site-packages", "dist-packages")
    return bool(about) and is_beside and Path(about[0]).parent.parent == place.parent
