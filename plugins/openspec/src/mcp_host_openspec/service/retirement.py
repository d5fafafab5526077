"""Whether a spec whose last requirement goes may itself go: only when nothing else is in it."""

from collections.abc import Iterator
from typing import Final

from ..model.requirements import Block
from ..model.spec import Parts
from ..model.text import S, fence_mask, pattern, trim, unify_line_ends
from .merge import inner_section

_H2: Final = pattern(rf" {{0,3}}##{S}+([^\n]*?){S}*\Z")
_H1: Final = pattern(rf" {{0,3}}#{S}+[^\n]+\Z")
_UNDERLINE: Final = pattern(rf" {{0,3}}(?:=+|-+){S}*\Z")
_HTML_HEADING: Final = pattern(rf"{S}*<h[1-6]\b", ignore_case=True)
_HEADING: Final = pattern(r" {0,3}#{1,6}(?:[ \t]|\Z)")
_SCENARIO: Final = pattern(rf" {{0,3}}####{S}+Scenario:", ignore_case=True)
_ITEM: Final = pattern(rf"{S}*(?:[-*+]|\d{{1,9}}[.)]){S}+")
_TABLE_OR_HTML: Final = pattern(rf"{S}*[|<]")
_NEW_PARAGRAPH: Final = pattern(
    r" {0,3}(?:>|(?:[-*_][ \t]*){3,}\Z|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)|[<|])"
)


def unaccounted(parts: Parts) -> list[str]:
    """The lines of a spec that are neither title, purpose nor part of a plain requirement."""
    lines = [*_outside_purpose(parts.before)]
    for text in (parts.preamble, parts.after):
        lines += [trim(line) for line in text.split("\n")]
    for block in parts.blocks:
        lines += _outside_scenarios(block)
    return [line for line in dict.fromkeys(lines) if line]


def _outside_purpose(before: str) -> Iterator[str]:
    lines = unify_line_ends(before.removeprefix("\ufeff")).split("\n")
    mask = fence_mask(lines)
    in_purpose = titled = False
    above = ""
    for index, line in enumerate(lines):
        previous, above = above, line
        if not trim(line):
            continue
        if mask[index]:
            if not in_purpose:
                yield trim(line)
            continue
        if section := _H2.match(line):
            in_purpose = trim(section[1]).lower() == "purpose"
            if not in_purpose:
                yield trim(line)
        elif in_purpose and trim(previous) and _UNDERLINE.match(line):
            in_purpose = False
            yield trim(previous)
        elif _HTML_HEADING.match(line) and not line.startswith("    "):
            in_purpose = False
            yield trim(line)
        elif _H1.match(line):
            if titled or in_purpose:
                yield trim(line)
            else:
                titled = True
            in_purpose = False
        elif not in_purpose:
            yield trim(line)


def _outside_scenarios(block: Block) -> Iterator[str]:
    if (tail := inner_section(block.raw)) is not None:
        yield trim(tail.split("\n", 1)[0])
    reader = _BlockReader()
    lines = block.raw.split("\n")
    mask = fence_mask(lines)
    for index in range(1, len(lines)):
        above = lines[index - 1] if index > 1 else ""
        if (found := reader.read(lines[index], above, fenced=mask[index])) is not None:
            yield found


class _BlockReader:
    """Walks down a requirement and tells the lines that are no sentence, scenario or step."""

    def __init__(self) -> None:
        self.scenario_seen = False
        self.in_steps = False
        self.step_seen = False
        self.item_column: int | None = None
        self.paragraph = False

    def read(self, line: str, above: str, *, fenced: bool) -> str | None:
        """The line that is unaccounted for, if this one, or the one above it, is."""
        if not trim(line):
            self.in_steps = self.in_steps and not self.step_seen
            self.item_column, self.paragraph = None, False
            return None
        column = self.item_column
        inside = column is not None and _columns(line) >= column
        inner = _without_indent(line, column) if inside and column is not None else line
        if fenced:
            self.item_column, self.paragraph = (column if inside else None), False
            return None
        if _UNDERLINE.match(inner) and trim(above):
            self.item_column, self.paragraph = None, False
            return trim(above)
        lazy = self.paragraph and self.in_steps and not _NEW_PARAGRAPH.match(inner)
        if (inside or lazy) and not _HEADING.match(inner) and not _HTML_HEADING.match(inner):
            self.paragraph = not _NEW_PARAGRAPH.match(inner)
            return None
        return self._begin(line)

    def _begin(self, line: str) -> str | None:
        """A line that continues nothing: a scenario, a step, a sentence, or something else."""
        item = _ITEM.match(line)
        self.item_column = _columns(item[0], whole=True) if item else None
        self.paragraph = item is not None
        if _SCENARIO.match(line):
            self.scenario_seen, self.in_steps, self.step_seen = True, True, False
            return None
        if item and self.in_steps:
            self.step_seen = True
            return None
        if not self.scenario_seen and (item or not _TABLE_OR_HTML.match(line)):
            return None
        return trim(line)


def _columns(text: str, *, whole: bool = False) -> int:
    """The width of a text's indent, or of the whole text, with tab stops every four columns."""
    column = 0
    for character in text:
        if not whole and character not in " \t":
            break
        column += 4 - column % 4 if character == "\t" else 1
    return column


def _without_indent(line: str, columns: int) -> str:
    column = 0
    for index, character in enumerate(line):
        if column >= columns or character not in " \t":
            return line[index:]
        column += 4 - column % 4 if character == "\t" else 1
    return ""
