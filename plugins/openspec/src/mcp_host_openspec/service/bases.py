"""The text of a requirement that a delta was written against, as far as anything tells.

What tells, best first: a record in the tree; git, by the spec as it stood before the block first
appeared; nothing. Where nothing tells, the archived changes that touched the requirement since the
change began are named: one of them may have edited it since the delta was written.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..errors import OpenSpecError
from ..model.delta import Delta, DeltaDocument
from ..model.requirements import Block
from ..model.spec import SpecDocument
from ..model.text import single_blanks, trim
from ..storage.history import History, Version, blob_id
from ..storage.records import Records, undone
from ..storage.tree import Tree


class Base(NamedTuple):
    """What a delta's author saw of one requirement."""

    source: Literal["record", "git", "unknown"]
    block: Block | None = None
    """None where nothing tells."""
    renamed: str | None = None
    """The name an archive has given the requirement since."""
    suspects: tuple[str, ...] = ()
    """Where nothing tells: the archived changes that may have edited it since."""


UNKNOWN: Final = Base("unknown")

Named = Mapping[str, Base]
"""Bases by the requirement's name as the delta gives it."""


def claims(delta: Delta) -> dict[str, str]:
    """The requirements of the main spec that a delta rewrites: by the name it gives, the spec's."""
    sources = {rename.new: rename.old for rename in delta.renamed}
    named = [*(block.name for block in delta.modified), *delta.removed]
    return {
        **{name: sources.get(name, name) for name in named},
        **{rename.new: rename.old for rename in delta.renamed},
    }


def same_text(one: Block, other: Block) -> bool:
    """Whether two blocks say the same; empty lines and the heading aside."""
    return _bare(one) == _bare(other)


def _bare(block: Block) -> str:
    return trim(single_blanks("\n".join(block.body)))


class Bases:
    """Finds the bases of the deltas in one tree."""

    def __init__(self, tree: Tree, records: Records, history: History) -> None:
        self._tree = tree
        self._records = records
        self._history = history

    def of(
        self, change: str, capability: str, document: DeltaDocument, current: SpecDocument | None
    ) -> Named:
        """The bases of what a delta rewrites, where they can make a difference."""
        if current is None:
            return {}
        written = {block.name: block for block in document.delta.modified}
        found = {}
        for name, source in claims(document.delta).items():
            block, now = written.get(name), current.blocks.get(source)
            if block is None and name not in document.delta.removed:
                continue  # a mere rename keeps the text, whatever it is
            if block is not None and now is not None and same_text(block, now):
                continue
            found[name] = self._base(change, capability, name, source, current)
        return found

    def known(
        self, change: str, capability: str, name: str, source: str, current: SpecDocument
    ) -> Base:
        """The base of one requirement that a delta gives a name, and the spec another or none."""
        return self._base(change, capability, name, source, current)

    def _base(
        self, change: str, capability: str, name: str, source: str, current: SpecDocument
    ) -> Base:
        record = self._records.base(change, capability, source)
        if record is not None:
            return Base("record", Block(source, record.text), record.renamed)
        block = self._when_begun(change, capability, current, source)
        if block is not None:
            return Base("record", block)
        block = self._in_git(change, capability, name, source, first_counts=False)
        if block is not None:
            return Base("git", block)
        if suspects := self._suspects(change, capability, source):
            return Base("unknown", suspects=suspects)
        block = self._in_git(change, capability, name, source, first_counts=True)
        return UNKNOWN if block is None else Base("git", block)

    def _when_begun(
        self, change: str, capability: str, current: SpecDocument, name: str
    ) -> Block | None:
        """The requirement as it was when the change was begun, by the record of that."""
        wanted = self._records.begun(change).get(capability)
        if wanted is None:
            return None
        data = self._content(wanted, capability, current.data)
        return None if data is None else SpecDocument(data).blocks.get(name)

    def _content(self, wanted: str, capability: str, data: bytes) -> bytes | None:
        """The content of this name: today's, one that archives led away from, or git's."""
        steps = {
            spec.after: spec
            for record in self._records.all_archived()
            for spec in record.specs
            if spec.capability == capability and spec.after is not None
        }
        seen = set()
        while (here := blob_id(data)) not in seen:
            if here == wanted:
                return data
            seen.add(here)
            if here not in steps or steps[here].before is None:
                break
            data = undone(data, steps[here].edits)
        return self._history.blob(wanted)

    def _in_git(
        self, change: str, capability: str, name: str, source: str, *, first_counts: bool
    ) -> Block | None:
        """The requirement in the commit before the one that brought the delta's block.

        `first_counts`: where that is the first commit there is, take the requirement from it.
        """
        path = f"changes/{change}/specs/{capability}/spec.md"
        versions = self._history.versions(path)
        contents = self._history.contents((v.commit, v.path) for v in versions)
        for version, data in zip(versions, contents, strict=True):
            if data is not None and name in claims(_delta(data)):
                return self._before(version, capability, source, first_counts=first_counts)
        return None

    def _before(
        self, version: Version, capability: str, name: str, *, first_counts: bool
    ) -> Block | None:
        path = f"specs/{capability}/spec.md"
        commits = [version.parent] if version.parent else []
        if first_counts:
            commits.append(version.commit)
        for data in self._history.contents((commit, path) for commit in commits):
            if data is not None and (block := SpecDocument(data).blocks.get(name)) is not None:
                return block
        return None

    def prepare(self, changes: Iterable[str]) -> None:
        """Ask git at once for what the bases of many changes will need."""
        wanted = []
        for change in changes:
            for capability in self._rewritten(change):
                path = f"changes/{change}/specs/{capability}/spec.md"
                for version in self._history.versions(path):
                    wanted.append((version.commit, version.path))
                    if version.parent:
                        wanted.append((version.parent, f"specs/{capability}/spec.md"))
        self._history.contents(wanted)

    def _rewritten(self, change: str) -> list[str]:
        """The capabilities whose requirements a change rewrites."""
        try:
            paths = self._tree.delta_paths(self._tree.change_path(change))
            return [name for name, path in paths.items() if claims(self._tree.delta_at(path).delta)]
        except (OSError, OpenSpecError):
            return []

    def _suspects(self, change: str, capability: str, name: str) -> tuple[str, ...]:
        """The archived changes that touched a requirement since the change was begun."""
        begun = self._tree.created(self._tree.change_path(change)) or ""
        return tuple(
            archived
            for archived in self._tree.archived_ids()
            if (not archived[:1].isdigit() or archived[:10] >= begun)
            and self._touches(self._tree.archive / archived, capability, name)
        )

    def _touches(self, folder: Path, capability: str, name: str) -> bool:
        path = folder / "specs" / capability / "spec.md"
        try:
            delta = self._tree.delta_at(path).delta
        except (OSError, OpenSpecError):
            return False
        return name in {*claims(delta), *claims(delta).values()}


def _delta(data: bytes) -> Delta:
    return DeltaDocument(data).delta
