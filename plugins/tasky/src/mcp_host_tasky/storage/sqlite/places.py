"""Looks tasks up by their numbers, in the narrow rows of `places`."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from ..sql import Where
from ..store import COUNTED
from .source import Source, View
from .walks import Order


def size_of(view: View, source: Source, most: int) -> int:
    """Return how many tasks a source has, at most one more than so many."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM ({source.sql}) LIMIT {most + 1})"
    return int(view.rows(sql, source.values)[0][0])


def count_of(view: View, source: Source, where: Where) -> int:
    """Return how many of a source fulfil conditions, at most one more than are counted."""
    if not where:
        return size_of(view, source, COUNTED)
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {joined(source, where)} LIMIT {COUNTED + 1})"
    return int(view.rows(sql, (*source.values, *where.values))[0][0])


def sorted_of(
    view: View, source: Source, where: Where, order: Order, limit: int
) -> tuple[list[int], int | None]:
    """Return the first of those of a source that fulfil conditions, and how many do, at most one
    more than are counted; None where none stands past the place of the order."""
    sql = (
        "WITH found AS MATERIALIZED (SELECT places.number, sort_key, unblocks "
        f"FROM {joined(source, where)}) SELECT number, (SELECT count(*) FROM found) FROM found "
        f"WHERE {order.past} ORDER BY {order.by} LIMIT ?"
    )
    rows = view.rows(sql, (*source.values, *where.values, *order.place, limit))
    return [row[0] for row in rows], min(rows[0][1], COUNTED + 1) if rows else None


def joined(source: Source, where: Where) -> str:
    """Return the FROM and WHERE of those of a source that fulfil conditions."""
    # The order of a CROSS JOIN is that of the loops: each of the source is looked up.
    found = f"({source.sql}) AS one CROSS JOIN places ON places.number = one.number"
    return f"{found} WHERE {where}"
