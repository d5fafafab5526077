"""What the two SQL stores share."""

from .bitmap_making import make_part, misdrawn
from .bitmaps import BitmapView, Having, KeptTexts, having
from .counters import miscounted
from .damage import damaged_rows, told_misplaced
from .drawing import Drawing, Drawings, Drawn, drawn, drawn_for
from .needles import fits, needle, says, whole
from .rows import SUMMARY, summary_of
from .tables import BITMAPS, STEPS, TABLES, VERSION, steps_from
from .view import EXPANSIONS, LAST_EVENT, LAST_NUMBER, SqlView, task_settings
from .where import (
    LIVE,
    NOBODY,
    Where,
    common_conditions,
    past_unblocking,
    statuses_of,
    told_by_row,
)
from .words import (
    BEGINNING_SIGN,
    BEGINNINGS,
    STATUS_SIGN,
    TAG_SIGN,
    Reworded,
    beginning_of,
    beginnings_of,
    indexed,
    reworded,
    status_word,
    tag_word,
)

__all__ = [
    "BEGINNINGS",
    "BEGINNING_SIGN",
    "BITMAPS",
    "EXPANSIONS",
    "LAST_EVENT",
    "LAST_NUMBER",
    "LIVE",
    "NOBODY",
    "STATUS_SIGN",
    "STEPS",
    "SUMMARY",
    "TABLES",
    "TAG_SIGN",
    "VERSION",
    "BitmapView",
    "Drawing",
    "Drawings",
    "Drawn",
    "Having",
    "KeptTexts",
    "Reworded",
    "SqlView",
    "Where",
    "beginning_of",
    "beginnings_of",
    "common_conditions",
    "damaged_rows",
    "drawn",
    "drawn_for",
    "fits",
    "having",
    "indexed",
    "make_part",
    "miscounted",
    "misdrawn",
    "needle",
    "past_unblocking",
    "reworded",
    "says",
    "status_word",
    "statuses_of",
    "steps_from",
    "summary_of",
    "tag_word",
    "task_settings",
    "told_by_row",
    "told_misplaced",
    "whole",
]
