"""What a plan is called, and how its people say dates and priorities."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from ..model import Day, Moment, Status, parse_when

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

    def due(self, said: str | None, now: datetime) -> Day | Moment | None:
        """Return the due date that the words mean; None for words that clear it."""
        if said is None or clears(said):
            return None
        return parse_when(said, now, self.zone)


def clears(said: str) -> bool:
    return said.strip().lower() in _CLEAR
