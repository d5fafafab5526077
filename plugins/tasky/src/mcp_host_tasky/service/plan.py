"""What a plan is called, and how its people say dates and priorities."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from ..model import Day, Moment, Status, parse_when
from ..storage import Condition, Project

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
    closes_parents: bool = False
    """Whether a task is completed with the last of its parts."""
    refuses_blocked: bool = False
    """Whether a task that waits for others cannot be completed; else that is only warned of."""
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    """What `done_when` may name: the person's own settings say what it means."""
    folder: Path = Path()
    """Where conditions are looked at."""

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
            closes_parents=project.closes_parents,
            refuses_blocked=project.refuses_blocked,
            conditions=project.conditions,
            folder=project.here or project.folder,
        )

    def due(self, said: str | None, now: datetime) -> Day | Moment | None:
        """Return the due date that the words mean; None for words that clear it."""
        if said is None or clears(said):
            return None
        return parse_when(said, now, self.zone)


def clears(said: str) -> bool:
    return said.strip().lower() in _CLEAR
