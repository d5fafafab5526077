"""The headings of a Markdown text and the sections they make."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from .text import ANY, WHITE, Lines, S, normalise, pattern, trim

_WHITE: Final = frozenset(WHITE)
_DEEPEST: Final = 6
_TITLED: Final = pattern(rf"#{{1,6}}{S}+({ANY}+)\Z")


class Section:
    """A heading with all that stands below it, deeper headings included.

    `line` is the index of the heading's line in `text`, the lines of the whole text, and `end` that
    of the first line that is not the section's any more.
    """

    def __init__(self, level: int, title: str, text: list[str], line: int, end: int) -> None:
        self.level = level
        self.title = title
        self.line = line
        self._text = text
        self._end = end
        self.children: list[Section] = []
        self._content: str | None = None

    @property
    def lines(self) -> list[str]:
        """The lines below the heading."""
        return self._text[self.line + 1 : self._end]

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

    def __init__(self, text: str | Lines) -> None:
        self.source: Final = text if isinstance(text, Lines) else Lines(normalise(text))

    @property
    def lines(self) -> list[str]:
        """The lines, with LF line ends and no byte order mark."""
        return self.source.lines

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
        sections = []
        for (index, level), end in self._borders_and_ends():
            title = _title(self.lines[index], level)
            if title is not None:
                sections.append(Section(level, title, self.lines, index, end))
        return sections

    def _borders_and_ends(self) -> list[tuple[tuple[int, int], int]]:
        """Every border with the index of the line that ends its section."""
        ended = []
        next_of_level = [len(self.lines)] * 7
        for index, level in reversed(self._borders()):
            ended.append(((index, level), next_of_level[level]))
            # What begins here ends every section above of the same or a deeper level.
            next_of_level[level:] = [index] * (7 - level)
        return ended[::-1]

    def _borders(self) -> list[tuple[int, int]]:
        """Every line that ends a section above it: its index and level."""
        return [
            (index, level)
            for index in self.source.heads
            if (level := _level(self.lines[index])) is not None
        ]


def _level(line: str) -> int | None:
    """The level of a heading; None for a line that begins with `#` and is none."""
    level = len(line) - len(line.lstrip("#"))
    return level if level <= _DEEPEST and line[level : level + 1] in _WHITE else None


def _title(line: str, level: int) -> str | None:
    """The title of a heading; None where nothing stands after the white space it needs."""
    if "\u2028" in line or "\u2029" in line:
        titled = _TITLED.match(line)
        return trim(titled[1]) if titled else None
    return trim(line[level:]) if len(line) > level + 1 else None
