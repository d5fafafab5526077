"""What the pack is about."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Reading:
    """What a city's thermometer showed at a time."""

    city: str
    celsius: float
    taken: datetime
