"""What the two SQL stores share."""

from .rows import SUMMARY, summary_of
from .tables import TABLES, TO_FORMAT_3, TO_FORMAT_4
from .view import FEW, SqlView
from .where import Where, common_conditions
from .words import SHORTEST_PREFIX, indexed, says, status_word

__all__ = [
    "FEW",
    "SHORTEST_PREFIX",
    "SUMMARY",
    "TABLES",
    "TO_FORMAT_3",
    "TO_FORMAT_4",
    "SqlView",
    "Where",
    "common_conditions",
    "indexed",
    "says",
    "status_word",
    "summary_of",
]
