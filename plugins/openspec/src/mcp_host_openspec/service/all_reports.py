"""What validation found in a whole tree: in memory while the tree is the same, and kept on disk."""

from collections.abc import Callable
from typing import Literal

from ..model.findings import Report
from ..storage.state import State
from ..storage.tree import Tree
from .kept_reports import KeptReports

Kind = Literal["change", "spec", "all"]


class AllReports:
    """The reports on all items of a tree, worked out once for a state of it.

    Where they are `kept` for other processes, they are looked for there once, before anything was
    worked out. A tree that is looked at `once` is not remembered.
    """

    def __init__(self, tree: Tree, kept: KeptReports | None, *, once: bool) -> None:
        self._tree = tree
        self._kept = kept
        self._once = once
        self._known: dict[tuple[Kind, bool], tuple[State, tuple[Report, ...]]] = {}

    def of(self, kind: Kind, *, notes: bool, work_out: Callable[[], list[Report]]) -> list[Report]:
        """The reports on all items of a kind, with or without notes."""
        self._tree.check_there()
        state, key = None if self._once else self._tree.whole_state(), (kind, notes)
        known = self._known.get(key)
        if state is not None and known is not None and known[0] == state:
            return list(known[1])
        kept = None if known is not None else self._kept
        digest = None if kept is None else kept.digest(kind, str(notes))
        if kept is not None and digest is not None and (found := kept.read(digest)) is not None:
            if state is not None:  # an edit since then is seen the next time
                self._known[key] = (state, found)
            return list(found)
        reports = work_out()
        if self._remember(key, state, tuple(reports)) and kept is not None and digest is not None:
            kept.write(digest, reports)
        return reports

    def _remember(
        self, key: tuple[Kind, bool], state: State | None, reports: tuple[Report, ...]
    ) -> bool:
        """Keep reports in memory, unless the tree was edited meanwhile; say whether."""
        if state is None or self._tree.whole_state() != state:
            return False
        self._known[key] = (state, reports)
        return True
