"""What an archive would lose that shows only in the tree around the delta."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import OpenSpecError
from ..model.delta import DeltaDocument
from ..storage.files import is_file
from ..storage.tree import Tree
from .losses import Loss


def unmerged(tree: Tree, change: Path, *, validate: bool) -> Iterator[Loss]:
    """L7 and L10: deltas in places nothing reads, and changes without any."""
    flat = [name for name, _ in tree.unread_deltas(change)]
    if is_file(change / "specs" / "spec.md"):
        flat.insert(0, "spec.md")
    if not validate:  # else validation has refused them already
        for name in flat:
            yield Loss(
                "L10", f"specs/{name}", "Nothing reads a delta here; it would not be merged."
            )
    for path in tree.hidden_deltas(change):
        yield Loss(
            "L7",
            path.relative_to(change).as_posix(),
            "Folders whose name begins with a dot are not read; this would not be merged.",
        )
    if not (flat or _has_deltas(tree, change) or tree.marker_skip_specs(change).declared):
        yield Loss(
            "L7",
            "specs/",
            "The change has no delta, so no spec learns of it. To say that this is meant, declare "
            "skip_specs in its .openspec.yaml.",
            harmless=True,
        )


def stale_references(tree: Tree, document: DeltaDocument) -> Iterator[str]:
    """Places in the specs that still name a requirement by the name it loses."""
    for rename in document.delta.renamed:
        word = re.compile(rf"(?<!\w){re.escape(rename.old)}(?!\w)")
        heading = re.compile(rf"###[ \t]*Requirement:[ \t]*{re.escape(rename.old)}[ \t#]*\Z")
        for capability, path in tree.spec_paths().items():
            for number, line in enumerate(_lines(tree, path), 1):
                if rename.old in line and word.search(line) and not heading.match(line):
                    yield (
                        f'specs/{capability}/spec.md:{number} still says "{rename.old}", '
                        f'which is renamed to "{rename.new}"'
                    )


def _lines(tree: Tree, path: Path) -> list[str]:
    try:
        return tree.spec_at(path).text.splitlines()
    except (OSError, OpenSpecError):
        return []  # another spec's trouble is no reason to stop this archive


def _has_deltas(tree: Tree, change: Path) -> bool:
    try:
        return bool(tree.delta_paths(change))
    except NotADirectoryError:
        return False
