"""The rows of a tree's lists: its changes with their progress, and its specs."""

from functools import partial
from pathlib import Path

from ..errors import OpenSpecError
from ..model.tasks import Progress
from ..storage.tree import Tree, unreadable
from .cache import DocumentCache, StateCache
from .views import ChangeRow, SpecRow, files_of, row_of_spec


class Listing:
    """Makes the rows of a tree's lists, and keeps each as long as what it was made of."""

    def __init__(self, tree: Tree, cache: DocumentCache, states: StateCache) -> None:
        self._tree = tree
        self._cache = cache
        self._states = states

    def change(self, change: str) -> ChangeRow:
        """The row of a change, which tells the problem of one that cannot be read."""
        folder = self._tree.change_path(change)
        try:
            return self._states.of(change, "row", partial(self._readable_row, change, folder))
        except OSError as error:
            problem: OpenSpecError = unreadable(folder, error)
        except OpenSpecError as error:
            problem = error.with_traceback(None)
        return ChangeRow(
            change, Progress(), self._tree.written(folder), (), files_of(folder), problem
        )

    def _readable_row(self, change: str, folder: Path) -> ChangeRow:
        return ChangeRow(
            change,
            self._tree.progress(folder),
            self._tree.modified(folder),
            tuple(self._tree.nested_changes(change)),
            files_of(folder),
        )

    def spec(self, capability: str, path: Path) -> SpecRow:
        """The row of a spec, which tells the problem of one that cannot be read."""
        try:
            return self._cache.with_others(
                document := self._tree.spec_at(path),
                (),
                ("row", capability),
                lambda: row_of_spec(capability, document),
            )
        except OSError as error:
            return SpecRow(capability, 0, "", unreadable(path, error))
        except OpenSpecError as error:
            return SpecRow(capability, 0, "", error.with_traceback(None))
