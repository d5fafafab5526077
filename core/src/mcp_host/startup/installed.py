"""What is installed: distributions and their entry points, read from the folders they left.

`importlib.metadata` reads the same, and more. To import it takes 13 ms of every start without a
saved catalogue (a fifteenth of it), so it is asked only where the path has more than folders.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Distribution(Protocol):
        """One distribution's metadata."""

        def read_text(self, filename: str) -> str | None:
            """Return a file of the metadata; None where there is none."""

    class Finder(Protocol):
        """Where distributions are found: `importlib.metadata` is one, too."""

        def distributions(self) -> Iterator[Distribution]:
            """Return all, in the order of the path; of a name there may be several."""

        def distribution(self, name: str) -> Distribution:
            """Return the one that is imported; `ModuleNotFoundError` where there is none."""


KINDS = (".dist-info", ".egg-info")
UNREADABLE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""What makes a file as good as absent, as in `importlib.metadata`."""


class Folder:
    """The metadata that an installer left in a folder."""

    def __init__(self, place: str) -> None:
        self._place = place

    def read_text(self, filename: str) -> str | None:
        """Return a file of the metadata; None where there is none.

        Raises `UnicodeDecodeError` where it is not UTF-8.
        """
        try:
            with open(f"{self._place}/{filename}", encoding="utf-8") as file:
                return file.read()
        except UNREADABLE:
            return None


class Folders:
    """The distributions in the folders of the import path, which are listed once."""

    def __init__(self) -> None:
        self._places = tuple(_places())

    def distributions(self) -> Iterator[Folder]:
        """Return all, in the order of the path; of a name there may be several."""
        for _, place in self._places:
            yield Folder(place)

    def distribution(self, name: str) -> Folder:
        """Return the one that is imported; `ModuleNotFoundError` where there is none."""
        wanted = _normal(name)
        for kept, place in self._places:
            if _normal(kept.partition("-")[0]) == wanted:
                return Folder(place)
        raise ModuleNotFoundError(f"no distribution {name} is installed", name=name)


def finder() -> Finder:
    """Return what finds the distributions that can be imported here."""
    if all(map(_is_usual, sys.path)) and not any(map(_finds_more, sys.meta_path)):
        return Folders()
    from importlib import metadata

    return metadata  # type: ignore[return-value]  # its functions are looked up as methods are


def entry_points(distribution: Distribution, group: str) -> dict[str, str]:
    """Return the entry points of one group: what each name leads to, `module` or `module:name`.

    The rules are those of the entry points specification of the Python packaging guide.
    """
    text = distribution.read_text("entry_points.txt")
    if not text or group not in text:
        return {}
    points: dict[str, str] = {}
    within = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            within = line == f"[{group}]"
        elif within and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            points[name.rstrip()] = value.lstrip()
    return points


def headers(distribution: Distribution) -> dict[str, list[str]]:
    """Return what a distribution says of itself before its description, each by its name."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    found: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


def _places() -> Iterator[tuple[str, str]]:
    """Every folder of metadata: the name and version that it is called by, and where it is."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(KINDS):
                yield name.rpartition(".")[0], f"{folder or '.'}/{name}"


def _is_usual(place: str) -> bool:
    """Whether a place on the path is a folder, or nothing: no archive, no egg."""
    return not place.endswith(".egg") and (not place or not os.path.isfile(place))


def _finds_more(importer: object) -> bool:
    """Whether one of Python's importers finds distributions elsewhere than on the path."""
    own = ("_frozen_importlib", "_frozen_importlib_external")
    kind = importer if isinstance(importer, type) else type(importer)
    return hasattr(importer, "find_distributions") and kind.__module__ not in own


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
