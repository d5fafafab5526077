"""The headings of a Markdown text and the sections they make."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .text import ANY, FenceMask, S, fence_mask, normalise, pattern, trim

_HEADING: Final = pattern(rf"(#{{1,6}}){S}+")
_TITLED: Final = pattern(rf"(#{{1,6}}){S}+({ANY}+)\Z")


@dataclass(slots=True)
class Section:
    """A heading with all that stands below it, deeper headings included."""

    level: int
    title: str
    line: int
    """Index of the heading's line."""
    lines: list[str]
    children: list["Section"] = field(default_factory=list)
    _content: str | None = None

    @property
    def content(self) -> str:
        """The text below the heading, trimmed."""
        if self._content is None:
            self._content = trim("\n".join(self.lines))
        return self._content

    def walk(self) -> Iterator["Section"]:
        """This section and all below it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


class Outline:
    """A text with its lines, its fenced blocks and its tree of sections."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = normalise(text).split("\n")

    @cached_property
    def fenced(self) -> FenceMask:
        """Which lines lie in fenced blocks."""
        return fence_mask(self.lines)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections no other section holds."""
        roots: list[Section] = []
        parents: list[Section] = []
        for section in self._flat():
            while parents and parents[-1].level >= section.level:
                parents.pop()
            (parents[-1].children if parents else roots).append(section)
            parents.append(section)
        return tuple(roots)

    def find(self, title: str) -> Section | None:
        """The first section of this title at any level; case does not count."""
        wanted = title.lower()
        for root in self.sections:
            for section in root.walk():
                if section.title.lower() == wanted:
                    return section
        return None

    def _flat(self) -> list[Section]:
        borders = self._borders()
        sections = []
        for place, (index, level) in enumerate(borders):
            titled = _TITLED.match(self.lines[index])
            if titled is None:
                continue
            end = next((at for at, other in borders[place + 1 :] if other <= level), None)
            body = self.lines[index + 1 : len(self.lines) if end is None else end]
            sections.append(Section(level, trim(titled[2]), index, body))
        return sections

    def _borders(self) -> list[tuple[int, int]]:
        """Every line that ends a section above it: its index and level."""
        return [
            (index, len(heading[1]))
            for index, line in enumerate(self.lines)
            if line.startswith("#")
            and not self.fenced[index]
            and (heading := _HEADING.match(line)) is not None
        ]
