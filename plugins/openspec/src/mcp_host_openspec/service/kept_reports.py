"""What validation found in a whole tree, kept for the next session's first question."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ..model.findings import Finding, Note, Report
from ..storage.kept import Kept, digest_of
from ..storage.tree import Tree

_HEAD: Final = b"openspec reports 1\n"


class KeptReports:
    """The reports of one tree, each set of them kept by a digest of all that it is made from."""

    def __init__(self, tree: Tree, kept: Kept) -> None:
        self._tree = tree
        self._kept = kept

    def digest(self, *asked: str) -> str | None:
        """The digest of what was asked and of the tree as it is; None where it cannot be told."""
        tree = self._tree
        words = (*asked, str(tree.files.max_bytes))
        outside = tuple(map(str, tree.outside))
        return digest_of(words, str(tree.root.path), (str(tree.openspec), *outside))

    def read(self, digest: str) -> tuple[Report, ...] | None:
        """What was kept under the digest; None where there is nothing, or nothing of ours."""
        data = self._kept.read(digest)
        if data is None or not data.startswith(_HEAD):
            return None
        with suppress(ValueError, TypeError):
            return tuple(
                Report(
                    name,
                    kind,
                    tuple(Finding(*finding) for finding in findings),
                    tuple(Note(*note) for note in notes),
                )
                for name, kind, findings, notes in json.loads(data[len(_HEAD) :])
            )
        return None

    def write(self, digest: str, reports: Sequence[Report]) -> None:
        """Keep these reports under the digest."""
        self._kept.write(digest, _HEAD + json.dumps(reports).encode())
