"""Requirements that several active changes rewrite."""

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import OpenSpecError
from ..model.delta import Delta
from ..storage.tree import Tree
from .bases import claims


class Claim(NamedTuple):
    """A requirement that another active change rewrites as well."""

    capability: str
    requirement: str
    changes: tuple[str, ...]
    """The others."""

    def __str__(self) -> str:
        others = " and ".join(self.changes)
        verb = "rewrite" if len(self.changes) > 1 else "rewrites"
        return f'{others} {verb} "{self.requirement}" as well.'


class Overlaps:
    """Looks for what the active changes of one tree have in common."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def of(self, change: str | None = None) -> dict[str, list[Claim]]:
        """By change, the requirements it has in common with others; of one change, or of all."""
        claimed = self._claimed(set(self._capabilities(change)) if change else None)
        shared: dict[str, list[Claim]] = {}
        for (capability, requirement), changes in claimed.items():
            for one in changes if len(changes) > 1 else ():
                others = tuple(other for other in changes if other != one)
                if change in (None, one):
                    shared.setdefault(one, []).append(Claim(capability, requirement, others))
        return shared

    def _claimed(self, only: set[str] | None) -> dict[tuple[str, str], list[str]]:
        """The changes that rewrite or add each requirement."""
        claimed: dict[tuple[str, str], list[str]] = defaultdict(list)
        for change in self._tree.change_ids():
            if only is not None and not self._may_have(change, only):
                continue
            for capability in self._capabilities(change):
                if only is not None and capability not in only:
                    continue
                for requirement in _named(self._delta(change, capability)):
                    claimed[capability, requirement].append(change)
        return claimed

    def _may_have(self, change: str, capabilities: set[str]) -> bool:
        """Whether a change may have a delta of one of these: a look, as most have none."""
        specs = f"{self._tree.change_path(change)}/specs"
        return any(_may_be_there(f"{specs}/{capability}/spec.md") for capability in capabilities)

    def _capabilities(self, change: str) -> list[str]:
        try:
            return list(self._tree.delta_paths(self._tree.change_path(change)))
        except (OSError, OpenSpecError):
            return []

    def _delta(self, change: str, capability: str) -> Delta:
        path = self._tree.change_path(change) / "specs" / capability / "spec.md"
        try:
            return self._tree.delta_at(path).delta
        except (OSError, OpenSpecError):
            return Delta()


def _may_be_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _named(delta: Delta) -> Iterator[str]:
    yield from dict.fromkeys([*claims(delta).values(), *(block.name for block in delta.added)])
