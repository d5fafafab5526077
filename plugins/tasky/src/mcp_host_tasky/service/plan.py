"""What a plan is called, and how its people say dates and priorities."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from ..model import Day, Moment, Status, parse_when
from ..storage import Project

# What clears a field that is said in words.
_CLEAR = ("", "none", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    name: str
    zone: tzinfo = UTC
    description: str = ""
    priority: int = 3
    status: Status = Status.PENDING
    lease_seconds: int = 900

    @classmethod
    def of_project(cls, project: Project, *, lease_seconds: int = 900) -> "Plan":
        """Return the plan that a project's settings describe."""
        return cls(
            name=project.name,
            description=project.description,
            zone=project.zone,
            priority=project.priority,
            status=project.status,
            lease_seconds=lease_seconds,
        )

    def due(self, said: str | None, now: datetime) -> Day | Moment | None:
        """Return the due date that the words mean; None for words that clear it."""
        if said is None or clears(said):
            return None
        return parse_when(said, now, self.zone)


def clears(said: str) -> bool:
    return said.strip().lower() in _CLEAR
