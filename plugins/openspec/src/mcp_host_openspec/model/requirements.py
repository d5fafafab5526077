"""Requirement blocks: a `### Requirement:` heading and the lines below it."""

from bisect import bisect_right
from collections import Counter
from functools import cached_property
from typing import Final, NamedTuple

from .text import ANY, WHITE, FenceMask, Lines, S, fence_mask, pattern, trim, trim_end

REQUIREMENT: Final = pattern(rf"###{S}*Requirement:{S}*({ANY}+){S}*\Z", ignore_case=True)
"""A requirement heading as merging reads it: no white space is needed after `###`."""

SPACED_REQUIREMENT: Final = pattern(rf"###{S}+Requirement:{S}*({ANY}+){S}*\Z", ignore_case=True)
"""A requirement heading as listing and validation read it."""

SCENARIO: Final = pattern(rf"####{S}+")

_WHITE: Final = frozenset(WHITE)
_HEADING: Final = pattern(rf"#{{1,6}}{S}")
_SCENARIO_END: Final = pattern(rf"#{{1,4}}{S}")
_METADATA: Final = pattern(r"\*\*[^*]+\*\*:")
_CLOSING_HASHES: Final = pattern(r"[ \t]+#+[ \t]*\Z")
_SCENARIO_LABEL: Final = pattern(rf"Scenario:{S}*", ignore_case=True)
_SPACES: Final = pattern(rf"{S}+")


def requirement_name(written: str) -> str:
    """The name a heading gives: without closing `#` signs and white space around it."""
    return trim(_CLOSING_HASHES.sub("", written, count=1))


def block_name(written: str) -> str:
    """The name by which deltas and specs meet: closing `#` signs go twice.

    The reference tool strips a name when it reads it and once more when it compares it.
    """
    return requirement_name(requirement_name(written))


def fold(name: str) -> str:
    """The name with case and spacing evened out, to notice near misses."""
    return _SPACES.sub(" ", requirement_name(name).lower())


def is_requirement(line: str) -> bool:
    """Say whether a line, outside a fenced block, begins a requirement."""
    return line.startswith("###") and REQUIREMENT.match(line) is not None


def is_h2(line: str) -> bool:
    """Say whether a line, outside a fenced block, begins a section of level two."""
    return line[:2] == "##" and line[2:3] in _WHITE


def body_text(lines: list[str]) -> str:
    """The sentence or sentences of a requirement: what stands above its first inner heading.

    Fenced blocks and blank lines are left out, and so are `**Key**: value` lines unless there is
    nothing else.
    """
    mask: FenceMask | None = None
    prose: list[str] = []
    metadata: list[str] = []
    for index, line in enumerate(lines):
        if mask is None and ("```" in line or "~~~" in line):
            mask = fence_mask(lines)
        if mask is not None and mask[index]:
            continue
        if line.startswith("#") and _HEADING.match(line):
            break
        if stripped := trim(line):
            (metadata if _METADATA.match(stripped) else prose).append(stripped)
    return "\n".join(prose or metadata)


class Section(NamedTuple):
    """A part of a requirement: a scenario, or the text above the first."""

    name: str
    """The scenario's name; empty for the text."""
    occurrence: int
    """Counts scenarios of one name."""


BODY: Final = Section("", -1)
"""The requirement's own text."""


class _Written(NamedTuple):
    name: str
    raw: str
    """LF line ends, no white space at the end."""
    line: int = 0
    """1-based line of the heading in its file; 0 where it has none."""


class Block(_Written):
    """A requirement as it is written: heading and all lines below it."""

    @property
    def is_named_plainly(self) -> bool:
        """Whether its heading gives its name by itself; else a merge cannot put it in place."""
        found = REQUIREMENT.match(self.heading)
        return found is not None and requirement_name(found[1]) == self.name

    @cached_property
    def heading(self) -> str:
        """The heading's line."""
        return self.raw.split("\n", 1)[0]

    @cached_property
    def body(self) -> list[str]:
        """The lines below the heading."""
        return self.raw.split("\n")[1:]

    @cached_property
    def text(self) -> str:
        """The requirement's own sentences; empty where it has none."""
        return body_text(self.body)

    @cached_property
    def scenario_bodies(self) -> tuple[str, ...]:
        """What stands below each scenario heading."""
        mask = fence_mask(self.body)
        bodies = []
        for start in self._scenario_lines(self.body, mask):
            end = start + 1
            while end < len(self.body) and (mask[end] or not _SCENARIO_END.match(self.body[end])):
                end += 1
            bodies.append("\n".join(self.body[start + 1 : end]))
        return tuple(bodies)

    @property
    def full_scenarios(self) -> int:
        """How many scenarios have a body."""
        return sum(bool(trim(body)) for body in self.scenario_bodies)

    @cached_property
    def scenario_names(self) -> tuple[str, ...]:
        """The names of all scenarios, with or without a body."""
        lines = self.raw.split("\n")
        return tuple(
            scenario_name(lines[index]) for index in self._scenario_lines(lines, fence_mask(lines))
        )

    def scenarios_missing_from(self, other: "Block") -> list[str]:
        """The scenarios of this block the other lacks, one entry per lost occurrence."""
        return list((Counter(self.scenario_names) - Counter(other.scenario_names)).elements())

    def lines_missing_from(self, other: "Block") -> tuple[str, ...]:
        """The lines of this block that the other lacks, white space around them aside."""
        missing = Counter(map(trim, self.body)) - Counter(map(trim, other.body))
        return tuple(line for line in map(trim, self.body) if line and line in missing)

    def renamed(self, name: str) -> "Block":
        """The same block under another name."""
        heading = f"### Requirement: {name}"
        return Block(name, "\n".join([heading, *self.body]), self.line)

    def with_spaced_heading(self) -> "Block":
        """The same block with the one space after `###` without which listing cannot see it."""
        if not self.heading.lower().startswith("###requirement:"):
            return self
        return Block(self.name, f"### {self.raw[3:]}", self.line)

    @property
    def scenario_lines(self) -> list[int]:
        """The indexes in the body of the lines that begin a scenario."""
        return self._scenario_lines(self.body, fence_mask(self.body))

    @staticmethod
    def _scenario_lines(lines: list[str], mask: FenceMask) -> list[int]:
        return [
            index
            for index, line in enumerate(lines)
            if line.startswith("####") and not mask[index] and SCENARIO.match(line)
        ]


def scenario_name(heading: str) -> str:
    """The name in a scenario heading: without `####`, `Scenario:` and closing `#` signs."""
    title = SCENARIO.sub("", heading, count=1)
    title = _CLOSING_HASHES.sub("", title, count=1)
    label = _SCENARIO_LABEL.match(title)
    return trim(title[label.end() :] if label else title)


def sections_of(block: Block) -> dict[Section, str]:
    """The parts of a requirement in order, each without empty lines at its end."""
    lines = block.body
    begins = block.scenario_lines
    parts = {BODY: "\n".join(lines[: begins[0] if begins else len(lines)])}
    seen: Counter[str] = Counter()
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        name = scenario_name(lines[begin])
        parts[Section(name, seen[name])] = "\n".join(lines[begin:end])
        seen[name] += 1
    return {section: trim_end(text) for section, text in parts.items()}


def split_blocks(source: Lines, start: int, end: int) -> tuple[int, list[Block]]:
    """Cut the lines from `start` up to `end` into requirement blocks.

    Returns the index of the first block's line (or `end`), and the blocks.
    """
    lines = source.lines
    begins = []
    borders = []
    for index in source.heads_between(start, end):
        line = lines[index]
        if line[3:4] != "#" and (heading := REQUIREMENT.match(line)) is not None:
            begins.append((index, block_name(heading[1])))
            borders.append(index)
        elif is_h2(line):
            borders.append(index)
    borders.append(end)
    blocks = []
    for index, name in begins:
        until = borders[bisect_right(borders, index)]
        blocks.append(Block(name, trim_end("\n".join(lines[index:until])), index + 1))
    return (begins[0][0] if begins else end), blocks
