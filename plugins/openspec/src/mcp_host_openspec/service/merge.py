"""Merging a delta into a main spec, in memory."""

from collections.abc import Collection, Iterable, Iterator
from types import MappingProxyType
from typing import Final, NamedTuple

from ..errors import MergeError
from ..model.delta import Delta, DeltaDocument
from ..model.requirements import Block, fold
from ..model.spec import Parts, SpecDocument, stated_purpose
from ..model.text import (
    fence_mask,
    length,
    line_ending,
    pattern,
    single_blanks,
    trim,
    trim_end,
    unify_line_ends,
    with_line_ending,
)
from ..model.three_way import Conflict, merge_blocks
from .bases import UNKNOWN, Base, Named, same_text
from .rules.spec import PLACEHOLDER_BEGIN, PLACEHOLDER_END, SHORTEST_PURPOSE

_INNER_HEADING: Final = pattern(r" {0,3}#{1,3}(?:[ \t]|\Z)")


class Counts(NamedTuple):
    """What a merge changed."""

    added: int = 0
    modified: int = 0
    removed: int = 0
    renamed: int = 0

    def __add__(self, other: "Counts") -> "Counts":  # type: ignore[override]
        return Counts(
            self.added + other.added,
            self.modified + other.modified,
            self.removed + other.removed,
            self.renamed + other.renamed,
        )

    @property
    def total(self) -> int:
        """All changes together."""
        return self.added + self.modified + self.removed + self.renamed

    def as_dict(self) -> dict[str, int]:
        """By operation, as the reference tool prints them."""
        return {
            "added": self.added,
            "modified": self.modified,
            "removed": self.removed,
            "renamed": self.renamed,
        }


class Overlap(NamedTuple):
    """A requirement that was edited since the delta that rewrites it was written, or may have been.

    Where both edits go together, or nothing of the later edit goes, it `loses` nothing.
    """

    name: str
    """As the spec calls it now."""
    written: str
    """As the delta calls it."""
    line: int
    base: Base
    loses: bool
    ours: str
    """The requirement in the main spec."""
    theirs: str
    """The requirement in the delta; empty where that removes it."""
    conflicts: tuple[Conflict, ...] = ()


class Merged(NamedTuple):
    """The outcome of a merge."""

    text: str
    """The whole new spec, with LF line ends."""
    counts: Counts
    warnings: tuple[str, ...]
    is_new: bool
    blocks: tuple[Block, ...]
    """The requirements of the new spec."""
    parts: Parts
    """How the old spec fell apart."""
    already_gone: tuple[str, ...]
    """REMOVED requirements that the spec does not have."""
    respaced: tuple[str, ...]
    """Requirements whose heading got the space it lacked after `###`."""
    overlaps: tuple[Overlap, ...] = ()
    """Requirements that were edited since the delta was written."""

    def written_over(self, old: SpecDocument | None) -> str:
        """The new spec with the line ends of the file it replaces."""
        return with_line_ending(self.text, line_ending(old.text) if old else None)


def merge(
    document: DeltaDocument,
    current: SpecDocument | None,
    *,
    capability: str,
    change: str,
    accept: Collection[str] = (),
    bases: Named = MappingProxyType({}),
) -> Merged:
    """Merge a delta into the spec it is about, or into a new one where there is none.

    `bases` are the requirements as the delta's author saw them: one that was edited since is merged
    in three ways. Without its base, the delta's text replaces it, as in the reference tool.

    Raises MergeError as the reference tool refuses. `accept` may hold L5, which lets the delta's
    text replace what it cannot be merged with, and L9, which lets a MODIFIED block drop scenarios
    and lets two requirements swap names.
    """
    _check_consistent(document.delta, capability)
    return _Merge(document, current, capability, change, frozenset(accept), bases).run()


def skeleton(capability: str, purpose: str) -> str:
    """A new spec without requirements."""
    return f"# {capability} Specification\n\n## Purpose\n{purpose}\n\n## Requirements\n"


def _check_consistent(delta: Delta, capability: str) -> None:
    """Raise MergeError where the delta contradicts itself."""
    for problem in _contradictions(delta):
        raise MergeError(f"{capability}: {problem}")
    if not delta.size:
        raise MergeError(
            f"{capability}: the delta has no operation; "
            "put requirements under ADDED, MODIFIED, REMOVED or RENAMED"
        )


def _contradictions(delta: Delta) -> Iterator[str]:
    for unpaired in delta.unpaired:
        yield f'line {unpaired.line}: {unpaired.side} "{unpaired.name}" has no other half'
    names = {
        "ADDED": [block.name for block in delta.added],
        "MODIFIED": [block.name for block in delta.modified],
        "REMOVED": delta.removed,
        "RENAMED FROM": [rename.old for rename in delta.renamed],
        "RENAMED TO": [rename.new for rename in delta.renamed],
    }
    for section, given in names.items():
        for name in dict.fromkeys(given):
            if given.count(name) > 1:
                yield f'"{name}" stands twice in {section}'
    folded_removed = {fold(name) for name in delta.removed}
    for rename in delta.renamed:
        if fold(rename.old) in folded_removed:
            yield f'"{rename.old}" is both renamed and removed'
        if rename.old in names["MODIFIED"]:
            yield f'MODIFIED must use the new name "{rename.new}", not "{rename.old}"'
        if rename.new in names["ADDED"]:
            yield f'"{rename.new}" is both the new name of a requirement and ADDED'
    for one, other in (("MODIFIED", "REMOVED"), ("MODIFIED", "ADDED"), ("ADDED", "REMOVED")):
        for name in names[one]:
            if name in names[other]:
                yield f'"{name}" stands in both {one} and {other}'


class _Merge:
    """One merge under way: the blocks by name, in the order they will be written.

    Invariants: `_blocks` has what will be written, by name. `_order` has the main spec's blocks in
    their old places, under their new names where they are renamed; who is not in `_blocks` any more
    is removed, and who is not in `_order` was added. No file is touched.
    """

    def __init__(
        self,
        document: DeltaDocument,
        current: SpecDocument | None,
        capability: str,
        change: str,
        accept: frozenset[str],
        bases: Named,
    ) -> None:
        self._delta = document.delta
        self._purpose = stated_purpose(document.text)
        self._capability = capability
        self._change = change
        self._lenient = "L9" in accept
        self._overwrites = "L5" in accept
        self._bases = bases
        self._overlaps: list[Overlap] = []
        self._is_new = current is None
        self._warnings: list[str] = []
        self._already_gone: list[str] = []
        self._respaced: list[str] = []
        self._warn_of_orphans()
        spec = self._start_spec() if current is None else self._existing_spec(current)
        for fault in spec.faults:
            raise self._refusal(
                f"line {fault.line} of the main spec, '{fault.heading}', must be put right first "
                f"({fault.kind})"
            )
        self._parts = spec.parts
        self._blocks = {block.name: block for block in self._parts.blocks}
        self._order = [block.name for block in self._parts.blocks]

    def run(self) -> Merged:
        counts = Counts(
            renamed=self._rename(),
            removed=self._remove(),
            modified=self._modify(),
            added=self._add(),
        )
        blocks = self._arrange()
        return Merged(
            _rebuild(self._parts, blocks),
            counts,
            tuple(self._warnings),
            self._is_new,
            tuple(blocks),
            self._parts,
            tuple(self._already_gone),
            tuple(self._respaced),
            tuple(self._overlaps),
        )

    def _warn_of_orphans(self) -> None:
        for orphan in self._delta.orphans:
            self._warn(
                f'requirement "{orphan.name}" on line {orphan.line} stands in no delta section '
                "and was not applied"
            )

    def _existing_spec(self, current: SpecDocument) -> SpecDocument:
        if self._purpose:
            existing = stated_purpose(current.text)
            if existing and existing != self._purpose:
                self._warn("the delta's Purpose was not applied; the spec has one already")
        return current

    def _start_spec(self) -> SpecDocument:
        if self._delta.modified or self._delta.renamed:
            raise self._refusal(
                "there is no main spec yet, so nothing can be MODIFIED or RENAMED; use ADDED"
            )
        if self._delta.removed:
            self._warn(f"{len(self._delta.removed)} REMOVED had no effect on a new spec")
        if self._purpose:
            spec = _spec(skeleton(self._capability, self._purpose))
            if overview := _readable_purpose(spec):
                if length(overview) < SHORTEST_PURPOSE:
                    self._warn(f"the purpose has fewer than {SHORTEST_PURPOSE} characters")
                return spec
            self._warn(
                "the delta's Purpose would make the spec unreadable; a placeholder stands in"
            )
        return _spec(skeleton(self._capability, PLACEHOLDER_BEGIN + self._change + PLACEHOLDER_END))

    def _rename(self) -> int:
        if self._lenient and self._swap_all():
            return len(self._delta.renamed)
        done = 0
        for rename in self._delta.renamed:
            old, new = rename.old, rename.new
            if old not in self._blocks:
                self._check_already_renamed(old, new)
                continue
            if new in self._blocks:
                raise self._refusal(f'cannot rename "{old}": "{new}" exists already')
            if twin := self._twin(new, but=old):
                raise self._refusal(
                    f'cannot rename "{old}" to "{new}": "{twin}" differs only in case or spacing'
                )
            self._blocks[new] = self._blocks.pop(old).renamed(new)
            if old in self._order:
                self._order[self._order.index(old)] = new
            done += 1
        return done

    def _swap_all(self) -> bool:
        """Rename all at once where every new name is also an old one: A to B and B to A."""
        renames = {rename.old: rename.new for rename in self._delta.renamed}
        if (
            not renames
            or set(renames) != set(renames.values())
            or not renames.keys() <= set(self._blocks)
        ):
            return False
        self._order = [renames.get(name, name) for name in self._order]
        self._blocks = {
            renames.get(name, name): block.renamed(renames[name]) if name in renames else block
            for name, block in self._blocks.items()
        }
        return True

    def _check_already_renamed(self, old: str, new: str) -> None:
        """Accept a rename whose outcome is there already; refuse any other missing source."""
        if new not in self._blocks:
            raise self._refusal(f'cannot rename "{old}": the spec does not have it')
        if twin := self._twin(old, but=new):
            raise self._refusal(f'cannot rename "{old}": the spec spells it "{twin}"')

    def _remove(self) -> int:
        done = 0
        for name in self._delta.removed:
            if name in self._blocks:
                self._note_removal(name)
                del self._blocks[name]
                done += 1
            elif not self._is_new:
                if twin := self._twin(name):
                    raise self._refusal(f'cannot remove "{name}": the spec spells it "{twin}"')
                self._already_gone.append(name)
                self._warn(f'REMOVED "{name}" had no effect: the spec does not have it')
        return done

    def _note_removal(self, name: str) -> None:
        """Note where what is removed was edited since, or may have been."""
        base, now = self._bases.get(name, UNKNOWN), self._blocks[name]
        edited = base.block is not None and not same_text(base.block, now)
        if edited or base.suspects:
            self._overlaps.append(Overlap(name, name, 0, base, edited, now.raw, ""))

    def _modify(self) -> int:
        done = 0
        for written in self._delta.modified:
            base = self._bases.get(written.name, UNKNOWN)
            block = self._under_todays_name(written, base)
            old = self._blocks.get(block.name)
            if old is None:
                raise self._refusal(f'cannot modify "{block.name}": the spec does not have it')
            if not written.is_named_plainly:
                raise self._refusal(
                    f'cannot modify "{block.name}": its heading must end with the name, '
                    "without closing # signs"
                )
            new = self._reconciled(base, old, block, written.name)
            lost = old.scenarios_missing_from(new) if new is not None else []
            if lost and not self._lenient:
                raise self._refusal(
                    f'MODIFIED "{block.name}" would drop scenarios: {", ".join(lost)}; '
                    "copy them into the block"
                )
            new = block if new is None else new
            done += not _same(old, new)
            self._blocks[block.name] = self._visible(new)
        return done

    def _under_todays_name(self, block: Block, base: Base) -> Block:
        """The block under the name that an archive has given its requirement since."""
        renamed = base.renamed
        if block.name in self._blocks or renamed is None or renamed not in self._blocks:
            return block
        self._warn(f'"{block.name}" is called "{renamed}" now, and is modified under that name')
        return block.renamed(renamed)

    def _reconciled(self, base: Base, old: Block, block: Block, written: str) -> Block | None:
        """The delta's block, with the edits that were made since; None where they conflict."""
        if base.block is None:
            if not base.suspects or not old.lines_missing_from(block):
                return block
            conflicts: list[Conflict] = []
        elif same_text(base.block, old):
            return block
        else:
            merged = merge_blocks(*map(_evened, (base.block, old, block)))
            if isinstance(merged, Block):
                if not same_text(merged, block):
                    self._note_overlap(base, old, block, written, loses=False)
                    return merged
                return block
            conflicts = merged
        self._note_overlap(base, old, block, written, loses=True, conflicts=conflicts)
        return block if self._overwrites else None

    def _note_overlap(
        self,
        base: Base,
        old: Block,
        block: Block,
        written: str,
        *,
        loses: bool,
        conflicts: Iterable[Conflict] = (),
    ) -> None:
        self._overlaps.append(
            Overlap(
                block.name,
                written,
                block.line,
                base,
                loses,
                old.raw,
                block.raw,
                tuple(conflicts),
            )
        )

    def _add(self) -> int:
        done = 0
        for block in self._delta.added:
            old = self._blocks.get(block.name)
            if old is not None:
                if _same(old, block):
                    continue
                raise self._refusal(f'cannot add "{block.name}": the spec has it already')
            if twin := self._twin(block.name):
                raise self._refusal(
                    f'cannot add "{block.name}": "{twin}" differs only in case or spacing'
                )
            self._blocks[block.name] = self._visible(block)
            done += 1
        return done

    def _visible(self, block: Block) -> Block:
        spaced = block.with_spaced_heading()
        if spaced is not block:
            self._respaced.append(block.name)
        return spaced

    def _arrange(self) -> list[Block]:
        """The blocks in their old places, new ones last; warn of inner sections that go."""
        kept = []
        for old, name in zip(self._parts.blocks, self._order, strict=True):
            new = self._blocks.get(name)
            if new is not None:
                kept.append(new)
            if new is not old:
                self._warn_of_inner_section(old, new)
        placed = set(self._order)
        return kept + [block for name, block in self._blocks.items() if name not in placed]

    def _warn_of_inner_section(self, old: Block, new: Block | None) -> None:
        tail = inner_section(old.raw)
        if tail is None:
            return
        text = trim(tail)
        if new is not None and text:
            before, after = trim(old.raw).count(text), trim(new.raw).count(text)
            if after >= before:
                return
        heading = trim(tail.split("\n", 1)[0])
        self._warn(f'"{heading}" stands inside requirement "{old.name}" and goes with it')

    def _twin(self, name: str, but: str | None = None) -> str | None:
        """Another name in the spec that differs from this one only in case or spacing."""
        folded = fold(name)
        return next((k for k in self._blocks if k != but and fold(k) == folded), None)

    def _warn(self, message: str) -> None:
        self._warnings.append(f"{self._capability}: {message}")

    def _refusal(self, message: str) -> MergeError:
        return MergeError(f"{self._capability}: {message}")


def _same(old: Block, new: Block) -> bool:
    """Whether the spec has this block already, be it with the space an archive put in."""
    return trim(old.raw) in (trim(new.raw), trim(new.with_spaced_heading().raw))


def _evened(block: Block) -> Block:
    """The block with runs of empty lines made one, as an archive writes it."""
    return Block(block.name, single_blanks(block.raw), block.line)


def inner_section(raw: str) -> str | None:
    """What stands in a block from its first inner heading of level one to three on."""
    lines = unify_line_ends(raw).split("\n")
    mask = fence_mask(lines)
    for index in range(1, len(lines)):
        if not mask[index] and _INNER_HEADING.match(lines[index]):
            return trim_end("\n".join(lines[index:]))
    return None


def _readable_purpose(spec: SpecDocument) -> str:
    """The purpose a new spec would be read to have; empty where it would not be readable."""
    if "<!--" in spec.text or spec.faults or not spec.has_requirements_section:
        return ""
    return spec.purpose


def _rebuild(parts: Parts, blocks: list[Block]) -> str:
    preamble = trim_end(parts.preamble) if trim(parts.preamble) else ""
    body = trim_end("\n\n".join([*([preamble] if preamble else []), *(b.raw for b in blocks)]))
    pieces = [trim_end(parts.before), parts.heading, body, trim(parts.after)]
    return trim_end(single_blanks("\n\n".join(piece for piece in pieces if piece))) + "\n"


def _spec(text: str) -> SpecDocument:
    return SpecDocument(text.encode("utf-8", "surrogatepass"))


def rebuilt_spec(merged: Merged) -> SpecDocument:
    """The outcome of a merge as a spec that can be validated."""
    return _spec(merged.text)
