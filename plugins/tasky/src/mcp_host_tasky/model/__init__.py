"""What a plan is made of: tasks, their relations, claims and events, and the words for dates."""

from .dates import Day, Moment, parse_when
from .task import (
    LIMITS,
    NO_DETAILS,
    Change,
    Claim,
    Event,
    Found,
    Kept,
    Status,
    Summary,
    Task,
    Wanted,
    written,
)
from .words import fold, snippet, words_of

__all__ = [
    "LIMITS",
    "NO_DETAILS",
    "Change",
    "Claim",
    "Day",
    "Event",
    "Found",
    "Kept",
    "Moment",
    "Status",
    "Summary",
    "Task",
    "Wanted",
    "fold",
    "parse_when",
    "snippet",
    "words_of",
    "written",
]
