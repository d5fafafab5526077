"""The trees of one repository: those of its worktrees, and those below the project."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from ..errors import InvalidNameError, OutsideTreeError
from ..storage.files import is_folder
from ..storage.repository import same_repository
from ..storage.roots import Root
from .openspec import OpenSpec

_MOST: Final = 16
"""Trees that are kept for the next call; each keeps what it has read."""


class Trees:
    """The trees that calls named beside the server's own. Safe to use from several threads."""

    def __init__(self) -> None:
        self._trees: OrderedDict[Path, OpenSpec] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, own: OpenSpec, project: str) -> OpenSpec:
        """The tree of a project, absolute or relative to the server's own.

        OutsideTreeError where that is neither below it nor in a worktree of its repository.
        """
        if "\0" in project:
            raise InvalidNameError("project", project, "must not contain null characters")
        path = (own.root.path / project).resolve()
        root = own.root.path.resolve()
        if path == root:
            return own
        if not is_folder(path):
            raise InvalidNameError("project", project, "must be a folder")
        if not path.is_relative_to(root) and not same_repository(path, root):
            raise OutsideTreeError(path)
        with self._lock:
            tree = self._trees.pop(path, None)
            if tree is None:
                tree = own.like(Root(path, "configured", own.root.folder))
                tree.recover()
            self._trees[path] = tree
            while len(self._trees) > _MOST:
                self._trees.popitem(last=False)
            return tree
