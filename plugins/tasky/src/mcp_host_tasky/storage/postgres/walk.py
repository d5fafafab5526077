"""A walk through tasks in list order, along an index."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from typing import Any, NamedTuple

from ..sql import Where

# A sort key ends with the number: an index that has the key is all that a walk reads.
NUMBER = "substr(sort_key, 49)::bigint AS number"
_KEYS = (
    f"FROM (SELECT sort_key, {NUMBER}, status, open_blockers, held_up, claimant, claimed_until, "
    "holder FROM tasks) AS tasks"
)
WALK = f"SELECT sort_key, number {_KEYS}"
WALK_UNBLOCKING = (
    f"SELECT unblocks, sort_key, number FROM (SELECT unblocks, sort_key, {NUMBER} FROM tasks "
    "WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0) AS tasks"
)


class Walk(NamedTuple):
    """A SELECT of tasks in list order, past a sort key that is its last value, the conditions that
    are looked at after it."""

    source: str
    values: list[Any]
    rest: Where
