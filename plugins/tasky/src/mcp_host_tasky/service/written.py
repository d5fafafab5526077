"""The rows of a write's answer, a page at a time: the call's own answer, and what follows it."""

from ..model import owned_key
from ..storage import Reading
from . import budget, queries
from .page import Page
from .requests import Caller
from .views import View
from .write import Write, kept_rows


def first_page(write: Write, views: list[View]) -> Page:
    """Return as many rows as fit; the others follow by the cursor, and those of a call that kept
    nothing do not."""
    key = write.key or write.rows_key
    fit = len(views) if write.shape == "full" else _fitting(views, key)
    if fit < len(views) and write.dry_run:
        told = f"Nothing was kept, and only the first {fit} of {len(views)} rows are shown."
        return Page(views[:fit], len(views), None, {"warnings": told})
    cursor = queries.written_cursor(key, fit) if fit < len(views) else None
    return Page(views[:fit], len(views), cursor, {})


def following_page(reading: Reading, cursor: str, caller: Caller) -> Page:
    """Return the rows of a write's answer that did not fit."""
    key, start = queries.from_written_cursor(cursor)
    owner = caller.acting().key
    kept = reading.kept(owned_key(owner, key))
    if kept is None:
        raise queries.foreign_cursor()
    rows = kept_rows(kept, key, is_own=owner != "")
    rest = rows[start:]
    fit = _fitting(rest, key)
    following = queries.written_cursor(key, start + fit) if fit < len(rest) else None
    return Page(rest[:fit], len(rows), following, {})


def _fitting(rows: list[View], key: str) -> int:
    return budget.fitting(rows, len(queries.written_cursor(key, 0)))
