"""Rewriting a change's deltas onto the specs of today."""

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import MergeError, OpenSpecError, RefusedError
from ..model.delta import DeltaDocument
from ..model.requirements import Block
from ..model.spec import SpecDocument
from ..model.text import line_ending, with_line_ending
from ..storage.records import BaseRecord, Records, written
from ..storage.tree import Tree, check_inside
from ..storage.writes import write_whole
from .bases import Bases
from .cache import Merges
from .losses import Loss, merge_losses
from .merge import Merged


class Rebased(NamedTuple):
    """What became of a change's MODIFIED and REMOVED requirements."""

    change: str
    merged: tuple[str, ...]
    """Those whose text was rewritten, as `capability: name`."""
    kept: tuple[str, ...]
    """Those whose text stays, and counts as written against the specs of today."""
    conflicts: tuple[Loss, ...]
    """Those that both edited; they stay as they are."""


class Rebases:
    """Rewrites the deltas of one tree."""

    def __init__(self, tree: Tree, records: Records, merges: Merges, bases: Bases) -> None:
        self._tree = tree
        self._records = records
        self._merges = merges
        self._bases = bases

    def rebase(self, change: str, *, mine: bool) -> Rebased:
        """Merge what merges; with `mine`, keep the change's text of what does not."""
        check_inside(self._tree.openspec, self._records.folder)
        merged: list[str] = []
        kept: list[str] = []
        conflicts: list[Loss] = []
        for capability, path in self._tree.delta_paths(self._tree.change_path(change)).items():
            document, current = self._tree.delta_at(path), self._current(capability)
            if current is None:
                continue
            outcome = self._merge(change, capability, document, current)
            rewritten: dict[str, Block] = {}
            seen: list[str] = []
            for overlap in outcome.overlaps:
                name = f"{capability}: {overlap.name}"
                if overlap.loses and not mine:
                    continue
                seen.append(overlap.name)
                if overlap.loses or not overlap.theirs:
                    kept.append(name)
                else:
                    merged.append(name)
                    block = next(b for b in outcome.blocks if b.name == overlap.name)
                    rewritten[overlap.written] = block
            if not mine:
                path_in_change = f"specs/{capability}/spec.md"
                conflicts += (
                    loss
                    for loss in merge_losses(outcome, None, path_in_change)
                    if loss.number == "L5" and loss.refuses
                )
            if rewritten:
                write_whole(path, _with_blocks(document, rewritten))
            for record in self._records_of(capability, document, current, seen):
                write_whole(
                    self._records.base_path(change, capability, record.requirement),
                    written(record),
                )
        return Rebased(change, tuple(merged), tuple(kept), tuple(conflicts))

    def _merge(
        self, change: str, capability: str, document: DeltaDocument, current: SpecDocument
    ) -> Merged:
        bases = self._bases.of(change, capability, document, current)
        # With L9 a delta that drops scenarios on purpose is no obstacle here: nothing is archived.
        outcome = self._merges.attempt(
            document, current, capability, change, frozenset({"L9"}), bases
        )
        if isinstance(outcome, MergeError):
            raise RefusedError(
                "rebase_refused",
                f"{outcome}. Nothing was changed.",
                suggestions=["Fix the change's delta and rebase again."],
            )
        return outcome

    def _records_of(
        self, capability: str, document: DeltaDocument, current: SpecDocument, names: list[str]
    ) -> Iterator[BaseRecord]:
        sources = {rename.new: rename.old for rename in document.delta.renamed}
        for name in names:
            block = current.blocks.get(sources.get(name, name))
            if block is not None:
                yield BaseRecord(capability, block.name, block.raw)

    def _current(self, capability: str) -> SpecDocument | None:
        try:
            return self._tree.spec(capability)
        except (OSError, OpenSpecError):
            return None


def _with_blocks(document: DeltaDocument, blocks: dict[str, Block]) -> bytes:
    """A delta file with some of its MODIFIED requirements replaced."""
    lines = list(document.lines)
    for old in sorted(document.delta.modified, key=lambda block: block.line, reverse=True):
        if old.name in blocks:
            begin = old.line - 1
            end = begin + len(old.raw.split("\n"))
            lines[begin:end] = blocks[old.name].raw.split("\n")
    text = with_line_ending("\n".join(lines), line_ending(document.text))
    mark = "\ufeff" if document.text.startswith("\ufeff") else ""
    return (mark + text).encode("utf-8", "surrogatepass")
