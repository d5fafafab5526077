"""What a check of a pack found: the rule, where, what is wrong, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "advice"]


@dataclass(frozen=True)
class ContractFinding:
    """One thing that a check of a pack found.

    `rule` is a stable word, `where` the tool, resource, prompt or setting that it is about, empty
    for the pack as a whole. An "error" fails the check, an "advice" does not.
    """

    rule: str
    where: str
    problem: str
    remedy: str
    severity: Severity = "error"

    def __str__(self) -> str:
        """The finding in a line."""
        where = f"{self.where}: " if self.where else ""
        return f"[{self.rule}] {where}{self.problem}. To mend it: {self.remedy}"

    def as_data(self) -> dict[str, Any]:
        """The finding as plain data."""
        return asdict(self)


def listed(findings: list[ContractFinding]) -> str:
    """The findings, a line each."""
    return "\n".join(str(finding) for finding in findings)
