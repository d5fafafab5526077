"""What a plan is made of: tasks, their relations, claims and events, and the words for dates."""

from .dates import Day, Moment, parse_when
from .task import (
    LIMITS,
    NEVER_UNDONE,
    NO_DETAILS,
    Change,
    Claim,
    Event,
    Found,
    Kept,
    Note,
    Source,
    Status,
    Summary,
    Task,
    Wanted,
    latest_lease,
    owned_key,
    written,
)
from .words import fold, snippet, words_of

__all__ = [
    "LIMITS",
    "NEVER_UNDONE",
    "NO_DETAILS",
    "Change",
    "Claim",
    "Day",
    "Event",
    "Found",
    "Kept",
    "Moment",
    "Note",
    "Source",
    "Status",
    "Summary",
    "Task",
    "Wanted",
    "fold",
    "latest_lease",
    "owned_key",
    "parse_when",
    "snippet",
    "words_of",
    "written",
]
