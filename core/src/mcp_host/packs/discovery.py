"""Which packs are installed, read from the metadata of distributions: nothing is imported."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import nearest
from ..settings.tables import PackTable
from ..startup import installed
from ..startup.installed import entry_points, headers
from .compatibility import host_requirement
from .declared import LoadError, Offer

if TYPE_CHECKING:
    from ..startup.installed import Distribution, Finder

log = logging.getLogger("mcp_host.packs")

GROUP = "mcp_host.packs"


GENERIC = frozenset(("mcp", "mcp-host", "mcp-server", "model-context-protocol", "python", "server"))
"""Keywords that tell no pack from another."""


def keywords(distribution: str) -> tuple[str, ...]:
    """Return the keywords of a distribution's metadata; none where it has none, or is not here."""
    from importlib import metadata  # as rarely needed as it is, and 13 ms of a start

    try:
        told = metadata.metadata(distribution)["Keywords"] or ""
    except (metadata.PackageNotFoundError, ValueError, KeyError):  # no such name, or no keywords
        return ()
    parts = told.split(",") if "," in told else told.split()
    return tuple(word for part in parts if (word := part.strip()) and word.lower() not in GENERIC)


def discover(names: Collection[str] | None = None) -> dict[str, list[Offer]]:
    """The packs that are installed (or those of these names), with what distributions offer them.

    A distribution whose metadata is damaged is passed over, with a line in the log.
    """
    offers: dict[str, list[Offer]] = {}
    finder = installed.finder()
    for distribution in finder.distributions():
        for offer in _offers(distribution, finder):
            if names is None or offer.name in names:
                known = offers.setdefault(offer.name, [])
                if offer.distribution and offer not in known:
                    known.append(offer)
    return dict(sorted(offers.items()))


def _offers(distribution: Distribution, finder: Finder) -> Iterable[Offer]:
    """What one distribution offers; with no name where its metadata cannot be read."""
    try:
        points = entry_points(distribution, GROUP)
        if not points:
            return ()
        name, version, requires = _about(distribution)
        if name:  # of several with one name, the first on the path is the one that is imported
            distribution = finder.distribution(name)
            name, version, requires = _about(distribution)
            points = entry_points(distribution, GROUP)
    except Exception as error:
        log.warning("the metadata of an installed distribution cannot be read: %s", error)
        return ()
    if not name:
        log.warning("the metadata behind pack %s cannot be read", ", ".join(points))
    return [Offer(pack, module, name, version, requires) for pack, module in points.items()]


def _about(distribution: Distribution) -> tuple[str, str, str]:
    """A distribution's name and version, and which host it needs; empty where one is missing."""
    about = headers(distribution)
    name, version = (about.get(key, [""])[0] for key in ("Name", "Version"))
    requires = host_requirement(about.get("Requires-Dist", ()))
    return (name, version, requires) if name and version else ("", "", "")


def summary(offer: Offer) -> str:
    """What the distribution says it is, in a line; empty where it says nothing."""
    try:
        about = headers(installed.finder().distribution(offer.distribution))
    except ModuleNotFoundError:
        return ""
    return about.get("Summary", [""])[0]


def chosen(name: str, table: PackTable, offers: Mapping[str, Sequence[Offer]]) -> Offer:
    """Return the one offer of a pack that the settings mean; `LoadError` names what is wrong."""
    if table.file is not None:
        from .single_file import offer_of_file  # few hosts have such a pack

        return offer_of_file(name, table.file, offers.get(name, ()))
    found = offers.get(name, ())
    if table.distribution:
        wanted = normalized(table.distribution)
        found = [offer for offer in found if normalized(offer.distribution) == wanted]
        if not found:
            raise LoadError(
                "not_installed",
                f"the distribution {table.distribution} offers no pack '{name}'",
                f"install it, or correct packs.{name}.distribution",
            )
    if not found:
        near = nearest(name, discover())
        hint = f"; did you mean '{near}'?" if near else ""
        raise LoadError(
            "not_installed",
            f"no installed distribution offers a pack '{name}'{hint}",
            _how_to_get(name, near),
        )
    if len(found) > 1:
        names = " and ".join(sorted(offer.distribution for offer in found))
        raise LoadError(
            "ambiguous",
            f"{names} both offer a pack '{name}'",
            f'choose one: distribution = "{found[0].distribution}" in [packs.{name}]',
        )
    return found[0]


def _how_to_get(name: str, near: str | None) -> str:
    if near:
        return f"correct the name in [packs.{name}], or install the distribution that offers it"
    extra = name.replace("_", "-")
    about = headers(installed.finder().distribution("mcp-host"))
    if extra in about.get("Provides-Extra", ()):
        return f'install it: pip install "mcp-host[{extra}]"'
    return "install the distribution that offers it, in the environment that mcp-host runs in"


def normalized(distribution: str) -> str:
    """Return the name of a distribution as all its spellings are compared."""
    return distribution.lower().replace("_", "-").replace(".", "-")
