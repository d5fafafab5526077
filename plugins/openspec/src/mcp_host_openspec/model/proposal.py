"""A change's proposal: why, what changes, its title, and the deltas its prose hints at."""

from functools import cached_property
from typing import Final, NamedTuple

from ..errors import IncompleteError
from .delta import Operation
from .outline import Outline
from .text import ANY, BOL, EOL, S, decode, pattern, trim

_TITLE: Final = pattern(rf"{BOL}#{S}+(?:Change:{S}+)?({ANY}+){EOL}", ignore_case=True)
_HINT: Final = pattern(rf"{S}*-{S}*\*\*([^*:]+)(?::\*\*|\*\*:){S}*({ANY}+)\Z")
_RENAMES: Final = pattern(r"\brename(?:s|d|ing)?\b")
_ADDS: Final = pattern(r"\b(?:add(?:s|ed|ing)?|create(?:s|d|ing)?|new)\b")
_REMOVES: Final = pattern(r"\b(?:remove(?:s|d|ing)?|delete(?:s|d|ing)?)\b")


class Hint(NamedTuple):
    """A delta guessed from a line of prose: `- **capability:** adds …`."""

    capability: str
    operation: Operation
    text: str


class Proposal:
    """A proposal.md. Everything is read when it is asked for, and then kept."""

    def __init__(self, data: bytes) -> None:
        self.text: Final = decode(data)

    @cached_property
    def outline(self) -> Outline:
        """The headings."""
        return Outline(self.text)

    @cached_property
    def why(self) -> str:
        """The Why section; empty where there is none."""
        section = self.outline.find("Why")
        return section.content if section else ""

    @cached_property
    def what_changes(self) -> str:
        """The What Changes section; empty where there is none."""
        section = self.outline.find("What Changes")
        return section.content if section else ""

    def check_complete(self) -> None:
        """Raise IncompleteError unless both sections are there."""
        if not self.why:
            raise IncompleteError("Change", "Why")
        if not self.what_changes:
            raise IncompleteError("Change", "What Changes")

    def title(self, otherwise: str) -> str:
        """The first top-level heading, unless there is none or it just says Proposal."""
        found = _TITLE.search(self.text)
        title = trim(found[1]) if found else ""
        return title if title and title.lower() != "proposal" else otherwise

    @cached_property
    def hints(self) -> tuple[Hint, ...]:
        """The deltas its prose hints at, for changes without delta sections."""
        found = (_HINT.match(line) for line in self.what_changes.split("\n"))
        return tuple(
            Hint(trim(hint[1]), _operation(trim(hint[2])), trim(hint[2])) for hint in found if hint
        )


def _operation(text: str) -> Operation:
    lowered = text.lower()
    if _RENAMES.search(lowered):
        return "RENAMED"
    if _ADDS.search(lowered):
        return "ADDED"
    return "REMOVED" if _REMOVES.search(lowered) else "MODIFIED"
