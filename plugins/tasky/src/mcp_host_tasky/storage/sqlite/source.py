"""Where a search looks: a SELECT of the numbers of tasks."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A SELECT of the numbers of tasks among which all that match are."""

    sql: str
    values: Sequence[Any]


NONE = Source("SELECT number FROM tasks WHERE false", ())


def matching(expression: str, since: int = 0) -> Source:
    """Return what the index of words finds by an expression of FTS5, from a number on: it passes
    what stands before that without reading it."""
    sql = "SELECT rowid AS number FROM words WHERE words MATCH ? AND rowid >= ?"
    return Source(sql, (expression, since))
