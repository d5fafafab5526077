"""A main spec: what it says, and how it falls into the parts a merge puts together again."""

from functools import cached_property
from typing import Final, Literal, NamedTuple

from ..errors import IncompleteError
from .outline import Outline, Section
from .requirements import (
    SPACED_REQUIREMENT,
    Block,
    body_text,
    is_h2,
    requirement_name,
    scenario_name,
    split_blocks,
)
from .text import (
    ANY,
    NOT_S,
    Lines,
    S,
    decode,
    fence_mask,
    is_utf8,
    normalise,
    pattern,
    trim,
    unify_line_ends,
)

_REQUIREMENTS: Final = pattern(rf"##{S}+Requirements{S}*\Z", ignore_case=True)
_PURPOSE: Final = pattern(rf"##{S}+Purpose{S}*\Z", ignore_case=True)
_DELTA: Final = pattern(
    rf"##{S}+(?:ADDED|MODIFIED|REMOVED|RENAMED){S}+Requirements{S}*\Z", ignore_case=True
)
_LABEL: Final = pattern(rf"Requirement:{S}*(?={NOT_S})({ANY}+)\Z", ignore_case=True)

Fault = Literal["delta heading", "outside requirements", "duplicate"]


class Scenario(NamedTuple):
    """One scenario of a requirement."""

    title: str
    """Its heading, as written after the `#` signs."""
    text: str

    @property
    def name(self) -> str:
        """The title without `Scenario:` and closing `#` signs."""
        return scenario_name(f"#### {self.title}")


class Requirement(NamedTuple):
    """One requirement as listing and showing see it."""

    name: str
    text: str
    scenarios: tuple[Scenario, ...]


class StructureFault(NamedTuple):
    """A heading that would make a merge go wrong."""

    kind: Fault
    line: int
    heading: str
    first_line: int | None = None
    """For a duplicate: where the name stood first."""


class Parts(NamedTuple):
    """A spec cut up around its `## Requirements` section."""

    before: str
    heading: str
    preamble: str
    blocks: tuple[Block, ...]
    after: str


class SpecDocument:
    """A main spec. Everything is read when it is asked for, and then kept."""

    def __init__(self, data: bytes) -> None:
        self.data: Final = data
        self.text: Final = decode(data)

    @cached_property
    def source(self) -> Lines:
        """The lines, with LF line ends and no byte order mark."""
        return Lines(normalise(self.text))

    @cached_property
    def utf8(self) -> bool:
        """Whether the file is UTF-8 throughout."""
        return is_utf8(self.data)

    @cached_property
    def outline(self) -> Outline:
        """The headings."""
        return Outline(self.source)

    @cached_property
    def purpose(self) -> str:
        """The text of the Purpose section; empty where there is none."""
        section = self.outline.find("Purpose")
        return section.content if section else ""

    @cached_property
    def has_requirements_section(self) -> bool:
        """Whether there is a Requirements section at any level."""
        return self.outline.find("Requirements") is not None

    @property
    def requirement_count(self) -> int:
        """How many requirements listing counts."""
        section = self.outline.find("Requirements")
        return len(section.children) if section else 0

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All that listing counts as a requirement: every heading right below Requirements."""
        section = self.outline.find("Requirements")
        return tuple(map(as_requirement, section.children)) if section else ()

    def check_readable(self) -> None:
        """Raise IncompleteError unless the spec has a purpose and a Requirements section."""
        if not self.purpose:
            raise IncompleteError("The spec", "Purpose")
        if not self.has_requirements_section:
            raise IncompleteError("The spec", "Requirements")

    @cached_property
    def parts(self) -> Parts:
        """The spec cut up for merging. Without a Requirements section, one stands at the end."""
        source = self.source
        lines = source.lines
        at = next((i for i in source.heads if _REQUIREMENTS.match(lines[i])), None)
        if at is None:
            return Parts(self.text, "## Requirements", "", (), "")
        below = source.heads_between(at + 1, len(lines))
        end = next((i for i in below if is_h2(lines[i])), len(lines))
        first, blocks = split_blocks(source, at + 1, end)
        return Parts(
            "\n".join(lines[:at]),
            lines[at],
            "\n".join(lines[at + 1 : first]),
            tuple(blocks),
            "\n".join(lines[end:]),
        )

    @cached_property
    def blocks(self) -> dict[str, Block]:
        """The requirement blocks by name; of a name given twice, the last."""
        return {block.name: block for block in self.parts.blocks}

    @cached_property
    def faults(self) -> tuple[StructureFault, ...]:
        """Headings a merge cannot work with, from top to bottom."""
        # A byte order mark stays here, so that a heading on the first line goes unseen as it does
        # in the reference tool.
        marked = self.text.startswith("\ufeff")
        source = Lines(unify_line_ends(self.text)) if marked else self.source
        lines, heads = source.lines, source.heads
        begin = next((i for i in heads if _REQUIREMENTS.match(lines[i])), len(lines))
        end = next((i for i in heads if i > begin and is_h2(lines[i])), len(lines))
        faults = []
        seen: dict[str, int] = {}
        for index in heads:
            line = lines[index]
            if line[3:4] == "#":
                continue  # deeper than any heading that matters here
            if _DELTA.match(line):
                faults.append(StructureFault("delta heading", index + 1, trim(line)))
                continue
            found = SPACED_REQUIREMENT.match(line)
            if found is None:
                continue
            if not begin < index < end:
                faults.append(StructureFault("outside requirements", index + 1, trim(line)))
                continue
            name = requirement_name(found[1])
            if name in seen:
                faults.append(StructureFault("duplicate", index + 1, trim(line), seen[name]))
            else:
                seen[name] = index + 1
        return tuple(faults)


def as_requirement(section: Section) -> Requirement:
    """A section as a requirement: its name, its sentences, its scenarios with steps."""
    label = _LABEL.match(section.title)
    return Requirement(
        requirement_name(label[1]) if label else section.title,
        body_text(section.content.split("\n")) or section.title,
        tuple(Scenario(child.title, child.content) for child in section.children if child.content),
    )


def stated_purpose(text: str) -> str | None:
    """The `## Purpose` of a delta or spec, where it says something outside fences and comments."""
    lines = unify_line_ends(text).split("\n")
    bare = _without_comments("\n".join(lines)).split("\n")
    mask = fence_mask(bare)
    start = next((i for i, line in enumerate(bare) if not mask[i] and _PURPOSE.match(line)), None)
    if start is None:
        return None
    end = next(
        (i for i in range(start + 1, len(bare)) if not mask[i] and is_h2(bare[i])), len(bare)
    )
    if not any(trim(bare[i]) for i in range(start + 1, end) if not mask[i]):
        return None
    return trim("\n".join(lines[start + 1 : end])) or None


_COMMENT: Final = pattern(r"<!--(?:(?!-->|--!>)[\s\S])*(?:-->|--!>|\Z)")
_NOT_LINE_END: Final = pattern(r"[^\n]")


def _without_comments(text: str) -> str:
    """The text with every comment blanked out, line for line."""
    if "<!--" not in text:
        return text
    return _COMMENT.sub(lambda comment: _NOT_LINE_END.sub(" ", comment[0]), text)
