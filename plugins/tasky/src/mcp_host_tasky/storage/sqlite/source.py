"""Where a search looks: a SELECT of the numbers of tasks."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A SELECT of the numbers of tasks among which all that match are."""

    sql: str
    values: Sequence[Any]


NONE = Source("SELECT number FROM tasks WHERE false", ())


def matching(expression: str) -> Source:
    """Return what the index of words finds by an expression of FTS5."""
    return Source("SELECT rowid AS number FROM words WHERE words MATCH ?", (expression,))
