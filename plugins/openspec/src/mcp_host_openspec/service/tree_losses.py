"""What an archive would lose that shows only in the tree around the delta, or in its history."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import OpenSpecError
from ..model.delta import DeltaDocument
from ..model.requirements import Block
from ..model.spec import SpecDocument
from ..model.text import trim
from ..storage.files import is_file
from ..storage.history import content_when_written
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
            "The change has no delta, so no spec would learn of it. Write one, or declare "
            "skip_specs in its .openspec.yaml.",
        )


def overwritten(
    tree: Tree, change: Path, capability: str, document: DeltaDocument, current: SpecDocument | None
) -> Iterator[Loss]:
    """L5: requirements that were edited after the delta that replaces them was written."""
    if current is None or not document.delta.modified:
        return
    path = f"specs/{capability}/spec.md"
    data = content_when_written(change / path, tree.spec_path(capability))
    if data is None:
        return
    then = SpecDocument(data)
    for block in document.delta.modified:
        old, now = then.blocks.get(block.name), current.blocks.get(block.name)
        if old is None or now is None or trim(old.raw) == trim(now.raw):
            continue
        yield Loss(
            "L5",
            path,
            f'Requirement "{block.name}" was edited after this delta was written; the delta '
            "replaces that edit.",
            block.line,
            _lines_only_in(now, old, block),
        )


def _lines_only_in(now: Block, old: Block, new: Block) -> tuple[str, ...]:
    """The lines the edit brought that the delta does not have."""
    known = {*old.raw.split("\n"), *new.raw.split("\n")}
    return tuple(trim(line) for line in now.raw.split("\n") if trim(line) and line not in known)


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
