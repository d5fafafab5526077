"""How a tree lies on disk at one moment, to tell later what was edited since."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .files import Identity, is_folder


class Snapshot(NamedTuple):
    """The files and folders of a tree, each with what tells one state of it from another."""

    is_there: bool
    entries: Mapping[str, Identity]

    @classmethod
    def of(cls, tree: Path) -> "Snapshot":
        """The tree as it is now; what one may not look at is left out."""
        return cls(is_folder(tree), dict(_entries(str(tree), "")))

    def edited(self, later: "Snapshot") -> list[PurePosixPath]:
        """The paths, relative to the tree, that came, went or are different."""
        different = set(self.entries.items()) ^ set(later.entries.items())
        return [PurePosixPath(path) for path in {path for path, _ in different}]


def _entries(folder: str, below: str) -> Iterator[tuple[str, Identity]]:
    with suppress(OSError):
        for entry in os.scandir(folder):
            path = f"{below}{entry.name}"
            yield path, Identity.of(entry.stat(follow_symlinks=False))
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, f"{path}/")
