"""What an archive would lose or change without a word, and which of it stops the archive.

The numbers are those of `docs/explanation/openspec-differences.md`. The reference tool lets all
of these pass, most of them in silence.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from ..errors import OpenSpecError, RefusedError
from ..model.delta import DeltaDocument, DeltaSection
from ..model.findings import Note
from ..model.requirements import SCENARIO, Block, is_requirement
from ..model.spec import SpecDocument
from ..model.text import pattern, trim
from .merge import Merged, Overlap

REFUSING: Final = ("L2", "L3", "L5", "L6", "L7", "L8", "L10")
"""The losses that stop an archive unless they are accepted by number, if text goes at all."""

ACCEPTABLE: Final = (*REFUSING, "L9")
"""What an override may name. L9 lets a MODIFIED block drop scenarios and two names be swapped."""

_REMOVED_ITEM: Final = pattern(r"[ \t]*[-*+][ \t]*`?###")
_RENAME_LINE: Final = pattern(r"[ \t]*[-*+]?[ \t]*(?:FROM|TO):")


class Side(NamedTuple):
    """Both texts of one part of a requirement that was edited twice."""

    part: str
    spec: str
    change: str


class Loss(NamedTuple):
    """One thing an archive would lose or change."""

    number: str
    path: str
    """Relative to the change's folder, or to the tree for a main spec."""
    message: str
    line: int | None = None
    lines: tuple[str, ...] = ()
    """The text in question."""
    harmless: bool = False
    """Whether nothing goes, so that there is nothing to refuse."""
    sides: tuple[Side, ...] = ()
    """Where two edits conflict: both texts, part by part."""

    @property
    def refuses(self) -> bool:
        """Whether it stops the archive unless accepted."""
        return self.number in REFUSING and not self.harmless

    @property
    def warning(self) -> str:
        """The loss in one line."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{self.number} {place}: {self.message}"

    def as_note(self) -> Note:
        """The same as validation shows it."""
        return Note(self.number, self.path, self.message, self.line)

    def as_dict(self) -> dict[str, object]:
        """Plain data for answers and errors."""
        plain: dict[str, object] = {"loss": self.number, "path": self.path, "message": self.message}
        if self.line is not None:
            plain["line"] = self.line
        if self.lines:
            plain["lines"] = list(self.lines)
        if self.sides:
            plain["sides"] = [side._asdict() for side in self.sides]
        return plain


def delta_losses(document: DeltaDocument, path: str) -> Iterator[Loss]:
    """What the delta file itself gives away: unclosed fences, cut requirements, dropped text."""
    if not document.utf8:
        yield Loss("L8", path, "The file is not UTF-8; merging would put U+FFFD for other bytes.")
    if document.mask.unclosed is not None:
        yield Loss(
            "L2",
            path,
            "This fenced block is never closed and swallows all that follows; close it.",
            document.mask.unclosed + 1,
        )
    for heading in _tight_headings(document):
        yield Loss(
            "L1",
            path,
            "A heading without a space after '###' is written with one; without it, nothing but "
            "merging would see the requirement.",
            heading,
        )
    yield from _dropped_text(document, path)


def merge_losses(merged: Merged, current: SpecDocument | None, path: str) -> Iterator[Loss]:
    """What shows only when delta and main spec meet."""
    for name in merged.already_gone:
        yield Loss(
            "L6",
            path,
            f'REMOVED "{name}" removes nothing: the spec has no requirement of this name. '
            "Write the name alone, spelled as in the spec, or take the line out.",
        )
    for overlap in merged.overlaps:
        yield _edited_since(overlap, path)
    if current is not None and not current.utf8:
        yield Loss("L8", path, "The main spec is not UTF-8; merging would put U+FFFD for bytes.")


def _edited_since(overlap: Overlap, path: str) -> Loss:
    """L5: a requirement that was edited after the delta that rewrites it was written."""
    ours, theirs = Block(overlap.name, overlap.ours), Block(overlap.name, overlap.theirs)
    title = f'Requirement "{overlap.name}"'
    if overlap.base.suspects:
        others = ", ".join(overlap.base.suspects)
        message = (
            f"{title} was touched by {others}, and nothing tells whether this delta was written "
            "before that."
        )
    elif not overlap.theirs:
        message = f"{title} was edited after this delta was written, which removes it."
    elif overlap.loses:
        parts = ", ".join(f'"{conflict.part}"' for conflict in overlap.conflicts)
        message = (
            f"{title} was edited after this delta was written, and both edit {parts} in ways that "
            "do not go together."
        )
    else:
        message = f"{title} was edited after this delta was written; an archive merges both edits."
    if overlap.loses:
        message += (
            " Take what shall stay into the delta and say so with 'rebase --mine', or accept the "
            "loss."
        )
    sides = tuple(Side(c.part, c.ours, c.theirs) for c in overlap.conflicts)
    whole = (Side(overlap.name, overlap.ours, overlap.theirs),)
    return Loss(
        "L5",
        path,
        message,
        overlap.line or None,
        ours.lines_missing_from(theirs) if overlap.loses else (),
        harmless=not overlap.loses,
        sides=(sides or whole) if overlap.loses else (),
    )


def _tight_headings(document: DeltaDocument) -> list[int]:
    delta = document.delta
    return [
        block.line
        for block in (*delta.added, *delta.modified)
        if block.with_spaced_heading() is not block
    ]


def _dropped_text(document: DeltaDocument, path: str) -> Iterator[Loss]:
    sections = document.sections
    above = document.lines[: sections[0].line - 1] if sections else []
    if kept := _text([line for line in above if not is_requirement(line)]):
        yield Loss("L4", path, "The text above the first section is not kept.", 1, kept)
    last: DeltaSection | None = None
    for section in sections:
        if section.operation is not None:
            last = section
            yield from _dropped_in_delta_section(section, path)
            continue
        kept = _text(section.lines)
        if not kept or section.title.lower() == "purpose":
            continue
        yield _dropped_section(section, last, path, kept)


def _dropped_section(
    section: DeltaSection, last: DeltaSection | None, path: str, kept: tuple[str, ...]
) -> Loss:
    """A section nothing reads: part of a requirement (L3) where scenarios stand in it."""
    scenarios = any(
        SCENARIO.match(line) for i, line in enumerate(section.lines) if not section.mask[i]
    )
    named = any(is_requirement(line) for i, line in enumerate(section.lines) if not section.mask[i])
    inside = last is not None and last.operation in ("ADDED", "MODIFIED")
    if scenarios and inside and not named:
        return Loss(
            "L3",
            path,
            f"'## {section.title}' ends the requirement above it: its scenarios below the heading "
            "are dropped. Use a fence, or a heading of level five.",
            section.line,
            kept,
        )
    return Loss("L4", path, f"The section '## {section.title}' is not kept.", section.line, kept)


def _dropped_in_delta_section(section: DeltaSection, path: str) -> Iterator[Loss]:
    """Lines of a delta section that belong to no operation."""
    if section.operation in ("ADDED", "MODIFIED"):
        first = next(
            (
                i
                for i, line in enumerate(section.lines)
                if not section.mask[i] and is_requirement(line)
            ),
            len(section.lines),
        )
        lines = section.lines[:first]
    elif section.operation == "REMOVED":
        lines = [
            line
            for line in section.lines
            if not is_requirement(line) and not _REMOVED_ITEM.match(line)
        ]
    else:
        lines = [line for line in section.lines if not _RENAME_LINE.match(line)]
    if kept := _text(lines):
        yield Loss(
            "L4",
            path,
            f"Text under '## {section.title}' that belongs to no operation is not kept.",
            section.line,
            kept,
        )


def _text(lines: list[str]) -> tuple[str, ...]:
    """The lines that say something."""
    return tuple(line for line in map(trim, lines) if line)


def refuse(change: str, losses: Sequence[Loss], accept: Collection[str]) -> None:
    """Raise RefusedError where a loss stops the archive and is not accepted."""
    stopping = [loss for loss in losses if loss.refuses and loss.number not in accept]
    if not stopping:
        return
    numbers = sorted({loss.number for loss in stopping})
    flags = " ".join(f"--accept {number}" for number in numbers)
    raise RefusedError(
        "archive_would_lose_text",
        f"Archives '{change}' would lose text: "
        + "; ".join(f"{loss.number} {loss.path}: {loss.message}" for loss in stopping),
        suggestions=[
            f"Fix the change, or accept the loss with accept: {numbers} (command: {flags})."
        ],
        losses=[loss.as_dict() for loss in stopping],
    )


def check_accepted(numbers: Collection[str]) -> frozenset[str]:
    """The losses to accept, or an error naming those that can be."""
    if unknown := sorted(set(numbers) - set(ACCEPTABLE)):
        raise OpenSpecError(
            f"accept: {', '.join(unknown)} is not one of {', '.join(ACCEPTABLE)}.",
            suggestions=["Name the losses as the refusal does."],
        )
    return frozenset(numbers)
