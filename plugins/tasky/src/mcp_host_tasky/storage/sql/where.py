"""Conditions of a search that both databases look up alike."""

from dataclasses import replace
from typing import Any

from ...model import Status, Wanted

LIVE = "claimed_until > ? AND claimed_until <= ?"
NOBODY = "nobody"
"""Who holds nothing: a claim without a holder has an empty one, which must not be the caller's."""


class Where:
    """A WHERE clause that grows by one condition at a time, with the values bound in it."""

    def __init__(self) -> None:
        self._parts = ["true"]
        self.values: list[Any] = []

    def need(self, part: str, *bound: Any) -> None:
        self._parts.append(part)
        self.values.extend(bound)

    def add(self, other: "Where") -> None:
        """Need all that another clause needs."""
        self._parts += other._parts[1:]
        self.values += other.values

    def __bool__(self) -> bool:
        """Whether anything is needed."""
        return len(self._parts) > 1

    def __str__(self) -> str:
        return " AND ".join(self._parts)


def common_conditions(wanted: Wanted) -> Where:
    """Return the conditions that both databases look up alike."""
    where = Where()
    if wanted.status:
        where.need("status = ?", wanted.status.value)
    if wanted.ready_for is not None:
        where.need("status = 'pending' AND open_blockers = 0 AND held_up = 0")
        where.need(
            "(claimed_until IS NULL OR claimed_until <= ? OR claimed_until > ? OR holder = ?)",
            wanted.now,
            wanted.latest_lease,
            wanted.ready_for or NOBODY,
        )
    if wanted.claimed_by is not None:
        where.need(f"{LIVE} AND claimant = ?", wanted.now, wanted.latest_lease, wanted.claimed_by)
    if wanted.held_by is not None:
        own = (wanted.held_by, f"{wanted.held_by}/", f"{wanted.held_by}0")  # 0 follows / in order
        where.need(
            f"{LIVE} AND (holder = ? OR (holder > ? AND holder < ?))",
            wanted.now,
            wanted.latest_lease,
            *own,
        )
    if wanted.held:
        where.need(LIVE, wanted.now, wanted.latest_lease)
    if wanted.waiting:
        where.need("status = 'pending' AND (open_blockers > 0 OR held_up = 1)")
    for tag in wanted.tags:
        where.need("number IN (SELECT number FROM tagged WHERE tag = ?)", tag)
    if wanted.priority:
        # As a range of the sort key, whose index has the order as well.
        level = str(5 - wanted.priority)
        where.need("sort_key >= ? AND sort_key < ?", level, level + "~")
    return where


def statuses_of(wanted: Wanted) -> list[Status]:
    """Return the statuses that are wanted; no task has two."""
    statuses = {wanted.status} if wanted.status else set()
    if wanted.waiting or wanted.ready_for is not None:
        statuses.add(Status.PENDING)
    return sorted(statuses)


def past_unblocking(after: tuple[int, str] | None, key: str = "sort_key") -> Where:
    """Return the condition that a task stands past one, by how many it unblocks and its key, where
    what unblocks most stands first."""
    where = Where()
    if after:
        where.need(f"(unblocks < ? OR (unblocks = ? AND {key} > ?))", after[0], *after)
    return where


def told_by_row(wanted: Wanted) -> Wanted:
    """Return what is wanted that neither words, tags nor the place in a list tell: whether a task
    can be begun, and who holds it."""
    return replace(
        wanted,
        words=(),
        tags=(),
        status=None,
        priority=None,
        due_until=None,
        created_after=None,
    )
