"""Where a search looks: a SELECT of the numbers of tasks."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...


class Source(NamedTuple):
    """A SELECT of the numbers of tasks among which all that match are."""

    sql: str
    values: Sequence[Any]


NONE = Source("SELECT number FROM tasks WHERE false", ())


_LISTED = "SELECT value AS number FROM json_each(?)"


def matching(expression: str, since: int = 0) -> Source:
    """Return what the index of words finds by an expression of FTS5, from a number on: it passes
    what stands before that without reading it."""
    sql = "SELECT rowid AS number FROM words WHERE words MATCH ? AND rowid >= ?"
    return Source(sql, (expression, since))


def listing(numbers: Sequence[int]) -> Source:
    """Return these tasks."""
    return Source(_LISTED, (json.dumps(numbers),))


def kept_of(view: View, source: Source, most: int) -> tuple[int, Source]:
    """Return how many tasks a source has, at most one more than so many, and a list of these: the
    index intersects lists, or merges them, and to do so again takes longer than to keep the list.
    """
    sql = f"SELECT count(*), json_group_array(number) FROM ({source.sql} LIMIT {most + 1})"
    ((count, found),) = view.rows(sql, source.values)
    return int(count), Source(_LISTED, (found,))
