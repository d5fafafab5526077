"""A delta: what one file of a change adds to, changes in, removes from or renames in a spec."""

import hashlib
from functools import cached_property
from typing import Final, Literal, NamedTuple

from .requirements import (
    REQUIREMENT,
    Block,
    block_name,
    is_requirement,
    requirement_name,
    split_blocks,
)
from .text import (
    ANY,
    FenceMask,
    Lines,
    S,
    decode,
    is_utf8,
    normalise,
    pattern,
    trim,
)

Operation = Literal["ADDED", "MODIFIED", "REMOVED", "RENAMED"]
OPERATIONS: Final[tuple[Operation, ...]] = ("ADDED", "MODIFIED", "REMOVED", "RENAMED")

_SECTION: Final = pattern(rf"##{S}+({ANY}+)\Z")
_H3: Final = pattern(rf"###{S}+({ANY}+?){S}*\Z")
_REMOVED_BULLET: Final = pattern(rf"{S}*[-*+]{S}*`?###{S}*Requirement:{S}*({ANY}+?)`?{S}*\Z")
_RENAME: Final = pattern(rf"{S}*[-*+]?{S}*(FROM|TO):{S}*`?###{S}*Requirement:{S}*({ANY}+?)`?{S}*\Z")

_TITLES: Final[dict[str, Operation]] = {
    f"{operation} requirements".lower(): operation for operation in OPERATIONS
}


class Rename(NamedTuple):
    """A requirement gets another name."""

    old: str
    new: str


class Unpaired(NamedTuple):
    """A FROM: or TO: line whose other half is missing."""

    side: Literal["FROM", "TO"]
    name: str
    line: int


class Orphan(NamedTuple):
    """A requirement outside the four delta sections; it has no effect."""

    name: str
    section: str | None
    """Title of the section it stands in; None above the first section."""
    line: int


class Stray(NamedTuple):
    """A third-level heading in ADDED or MODIFIED that is no requirement; it has no effect."""

    heading: str
    section: str
    line: int


class DeltaSection(NamedTuple):
    """A second-level section of a delta file."""

    title: str
    operation: Operation | None
    """None for a section that is no delta section."""
    line: int
    """1-based line of the heading."""
    lines: list[str]
    mask: FenceMask
    source: Lines
    """The file the section is in."""
    end: int
    """Index in the file of the first line below the section."""

    @property
    def first_line(self) -> int:
        """1-based number of the first line below the heading."""
        return self.line + 1


class Delta:
    """The operations of a delta file, and the places in it that come to nothing."""

    def __init__(self) -> None:
        self.added: list[Block] = []
        self.modified: list[Block] = []
        self.removed: list[str] = []
        self.removed_blocks: list[Block] = []
        self.renamed: list[Rename] = []
        self.unpaired: list[Unpaired] = []
        self.orphans: list[Orphan] = []
        self.strays: list[Stray] = []
        self.present: list[Operation] = []
        """The delta sections the file has, with or without entries."""

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.added) + len(self.modified) + len(self.removed) + len(self.renamed)


class DeltaDocument:
    """A delta file. Everything is read when it is asked for, and then kept."""

    def __init__(self, data: bytes) -> None:
        self.data: Final = data
        self.text: Final = decode(data)

    @cached_property
    def digest(self) -> str:
        """What tells this content from another."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def utf8(self) -> bool:
        """Whether the file is UTF-8 throughout."""
        return is_utf8(self.data)

    @cached_property
    def source(self) -> Lines:
        """The lines, with LF line ends and no byte order mark."""
        return Lines(normalise(self.text))

    @property
    def lines(self) -> list[str]:
        """The lines, with LF line ends and no byte order mark."""
        return self.source.lines

    @property
    def mask(self) -> FenceMask:
        """The fenced blocks."""
        return self.source.mask

    @cached_property
    def sections(self) -> tuple[DeltaSection, ...]:
        """The second-level sections in order, those that are no delta sections included."""
        heads = [
            (index, trim(found[1]))
            for index in self.source.heads
            if (found := _SECTION.match(self.lines[index])) is not None
        ]
        ends = [*(index for index, _ in heads), len(self.lines)][1:]
        return tuple(
            DeltaSection(
                title,
                _TITLES.get(title.lower()),
                index + 1,
                self.lines[index + 1 : end],
                self.mask.part(index + 1, end),
                self.source,
                end,
            )
            for (index, title), end in zip(heads, ends, strict=True)
        )

    @cached_property
    def delta(self) -> Delta:
        """What the file does."""
        delta = Delta()
        delta.present = [
            operation
            for operation in OPERATIONS
            if any(section.operation == operation for section in self.sections)
        ]
        for section in self.sections:
            if section.operation == "ADDED":
                delta.added += _blocks(section)
            elif section.operation == "MODIFIED":
                delta.modified += _blocks(section)
            elif section.operation == "REMOVED":
                delta.removed += _removed_names(section)
                delta.removed_blocks += _blocks(section)
            elif section.operation == "RENAMED":
                _read_renames(section, delta)
        delta.unpaired.sort(key=lambda unpaired: unpaired.line)
        delta.strays = self._strays()
        delta.orphans = self._orphans()
        return delta

    def _strays(self) -> list[Stray]:
        return [
            Stray(trim(found[1]), section.title, section.first_line + index)
            for section in self.sections
            if section.operation in ("ADDED", "MODIFIED")
            for index, line in enumerate(section.lines)
            if line.startswith("###")
            and not section.mask[index]
            and (found := _H3.match(line)) is not None
            and not is_requirement(line)
        ]

    def _orphans(self) -> list[Orphan]:
        orphans = []
        first = self.sections[0].line - 1 if self.sections else len(self.lines)
        places = [(None, 1, self.lines[:first], self.mask.part(0, first))] + [
            (section.title, section.first_line, section.lines, section.mask)
            for section in self.sections
            if section.operation is None
        ]
        for title, first_line, lines, mask in places:
            for index, line in enumerate(lines):
                if line.startswith("###") and not mask[index] and (h := REQUIREMENT.match(line)):
                    orphans.append(Orphan(requirement_name(h[1]), title, first_line + index))
        return orphans


def _blocks(section: DeltaSection) -> list[Block]:
    return split_blocks(section.source, section.line, section.end)[1]


def _removed_names(section: DeltaSection) -> list[str]:
    names = []
    for index, line in enumerate(section.lines):
        if section.mask[index] or "###" not in line:
            continue
        if found := REQUIREMENT.match(line) or _REMOVED_BULLET.match(line):
            names.append(block_name(found[1]))
    return names


def _read_renames(section: DeltaSection, delta: Delta) -> None:
    """Pair each FROM: with the TO: below it; pairs never reach into another section."""
    open_from: Unpaired | None = None
    for index, line in enumerate(section.lines):
        if section.mask[index] or not (found := _RENAME.match(line)):
            continue
        name = block_name(found[2])
        here = section.first_line + index
        if found[1] == "FROM":
            if open_from:
                delta.unpaired.append(open_from)
            open_from = Unpaired("FROM", name, here)
        elif open_from:
            delta.renamed.append(Rename(open_from.name, name))
            open_from = None
        else:
            delta.unpaired.append(Unpaired("TO", name, here))
    if open_from:
        delta.unpaired.append(open_from)
