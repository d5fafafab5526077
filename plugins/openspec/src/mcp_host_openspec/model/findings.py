"""What validation says of an item."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Level = Literal["ERROR", "WARNING", "INFO"]
ItemType = Literal["change", "spec"]


class Finding(NamedTuple):
    """One finding: which rule, how grave, where, and what to do."""

    rule: str
    """`S1` to `S14` for specs, `C1` to `C21` for changes, `A1` and `A2` for archived changes,
    `F0` for a file that cannot be read."""
    level: Level
    path: str
    """A file relative to the item, or the part of the document: `requirements[2].scenarios`."""
    message: str
    line: int | None = None
    """1-based."""


class Note(NamedTuple):
    """Something worth knowing that the reference tool does not report; never part of a verdict."""

    rule: str
    """`L1` to `L10` for text an archive would lose or change, `N1` and on for the rest."""
    path: str
    message: str
    line: int | None = None


class Report(NamedTuple):
    """All findings about one item."""

    id: str
    type: ItemType
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...] = ()

    def valid(self, *, strict: bool = False) -> bool:
        """No error; when strict, no warning either."""
        fatal = ("ERROR", "WARNING") if strict else ("ERROR",)
        return not any(finding.level in fatal for finding in self.findings)

    def at(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Say whether any of the findings is an error."""
    return any(finding.level == "ERROR" for finding in findings)
