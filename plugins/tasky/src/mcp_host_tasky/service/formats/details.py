"""The details of a task as lines of a check list.

They stand in by two blanks. What would be read as a task there, and fences and comments that are
not closed, which would hide the tasks below, have a backslash before them.
"""

import re
from collections.abc import Sequence

_FENCE = re.compile(r"^\s*(`{3,}(?=[^`]*$)|~{3,})")
# Also what OpenSpec takes for a task: it needs no blank before the box.
_BOX = r"^(\s*(?:[-*+]|\d{1,9}[.)])\s*)%s(?=\\*\[\s*[^\s\]]?\s*\](?![(\[]))"
_TASK = re.compile(_BOX % "")
_NO_TASK = re.compile(_BOX % r"\\")
_OPENING = r"^(\s*)%s(?=\\*(?:`{3}|~{3}|<!--))"
_OPENS = re.compile(_OPENING % "")
_OPENS_NOT = re.compile(_OPENING % r"\\")


class Hidden:
    """Follows the lines of a file, and tells which stand in a fence or a comment: they are text."""

    def __init__(self) -> None:
        self.closing: re.Pattern[str] | None = None

    def hides(self, line: str) -> bool:
        if self.closing is not None:
            self.closing = None if self.closing.search(line) else self.closing
            return True
        if fence := _FENCE.match(line):
            self.closing = re.compile(rf"^\s*{fence[1]}{fence[1][0]}*\s*$")
            return True
        if line.lstrip().startswith("<!--"):
            self.closing = None if "-->" in line else re.compile("-->")
            return True
        return False


def read_details(lines: Sequence[str], most: int | None) -> str:
    """Return details without what all lines stand in by, or `most`, where that is less."""
    least = min([*_indents(lines), *(() if most is None else (most,))], default=0)
    found = [_OPENS_NOT.sub(r"\1", _NO_TASK.sub(r"\1", line[least:])) for line in lines]
    return "\n".join(found).strip("\n")


def moved_details(lines: Sequence[str], indent: str) -> list[str]:
    """Return lines of details as they are, but for how far they stand in."""
    least = min(_indents(lines), default=0)
    return [f"{indent}{line[least:]}" if line.strip() else line for line in lines]


def _indents(lines: Sequence[str]) -> list[int]:
    """Return how far each line that is not blank stands in."""
    return [len(line) - len(line.lstrip()) for line in lines if line.strip()]


def written_details(details: str, indent: str) -> list[str]:
    """Return details as lines below an item."""
    if not details.strip():
        return []
    lines = [_TASK.sub(r"\1\\", line) for line in details.strip("\n").split("\n")]
    start = _left_open(lines)
    for number, line in enumerate(lines):
        opens = _OPENS.match(line)
        if opens and (number >= start or line[opens.end() :].startswith("\\")):
            lines[number] = _OPENS.sub(r"\1\\", line)
    return [f"{indent}  {line}" if line else "" for line in lines]


def _left_open(lines: Sequence[str]) -> int:
    """Return the number of the line whose fence or comment is not closed; without one, as many as
    there are lines."""
    hidden = Hidden()
    opened = 0
    for number, line in enumerate(lines):
        was_open = hidden.closing is not None
        hidden.hides(line)
        if hidden.closing is not None and not was_open:
            opened = number
    return len(lines) if hidden.closing is None else opened
