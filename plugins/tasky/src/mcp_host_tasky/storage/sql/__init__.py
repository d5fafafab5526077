"""What the two SQL stores share."""

from .counters import miscounted
from .damage import damaged_rows
from .drawing import are_surely_more, drawn
from .rows import SUMMARY, summary_of
from .tables import STEPS, TABLES, VERSION, steps_from
from .view import EXPANSIONS, FEW, LISTED, SOME, SqlView
from .where import Where, common_conditions, told_by_row
from .words import (
    STATUS_SIGN,
    Reworded,
    indexed,
    is_status,
    reworded,
    says,
    status_word,
)

__all__ = [
    "EXPANSIONS",
    "FEW",
    "LISTED",
    "SOME",
    "STATUS_SIGN",
    "STEPS",
    "SUMMARY",
    "TABLES",
    "VERSION",
    "Reworded",
    "SqlView",
    "Where",
    "are_surely_more",
    "common_conditions",
    "damaged_rows",
    "drawn",
    "indexed",
    "is_status",
    "miscounted",
    "reworded",
    "says",
    "status_word",
    "steps_from",
    "summary_of",
    "told_by_row",
]
