"""The conditions of a search of PostgreSQL, as they are looked up one way or another."""

from dataclasses import replace
from typing import Protocol

from ...model import Wanted
from ..sql import LIVE, NOBODY, Where, common_conditions
from .walk import CREATED, CREATED_AFTER, DUE

HAS_WORDS = "words @@ ?::tsquery"
"""That a row of words has the words, tags and status of a text search."""
# As values: the planner would join the table, and list all that have the tag where few are asked.
HAS_TAG = "(SELECT true FROM tagged WHERE tag = ? AND tagged.number = tasks.number)"
IN_ROW = "(SELECT {} FROM tasks AS row WHERE row.number = tasks.number)"
LISTED_TAG = "(number IN (SELECT number FROM tagged WHERE tag = ?)) IS TRUE"
_HELD = "SELECT number FROM tasks WHERE"


class Counting(Protocol):
    """What this room needs of a view of the store."""

    def having_tag(self, tag: str, most: int) -> int:
        """How many tasks have a tag, at least one more than so many where more have it."""


def by_key(wanted: Wanted) -> Where:
    """Return those by dates, as the sort key has them."""
    where = Where()
    if wanted.due_until:
        where.need(f"{DUE} <= ?", wanted.due_until)
    if wanted.created_after:
        where.need(f"{CREATED} > ?", wanted.created_after)
    return where


def by_place(wanted: Wanted) -> Where:
    """Return those by dates and by priority, all as the sort key has them."""
    where = by_key(wanted)
    where.add(common_conditions(wanted.only(priority=wanted.priority)))
    return where


def beside_words(wanted: Wanted) -> Where:
    """Return those besides words, tags and status, for rows of words: these have the sort key, and
    whether a task can be begun."""
    where = by_place(wanted)
    if wanted.waiting:
        where.need("NOT is_ready")
    if wanted.ready_for is not None:
        where.need("is_ready")
        # Few are held, and an index has these.
        others = f"{_HELD} {LIVE} AND (holder IS NULL OR holder <> ?)"
        holder = wanted.ready_for or NOBODY
        where.need(f"number NOT IN ({others})", wanted.now, wanted.latest_lease, holder)
    held = wanted.only(claimed_by=wanted.claimed_by, held_by=wanted.held_by, held=wanted.held)
    if claims := common_conditions(held):
        where.need(f"(number IN ({_HELD} {claims})) IS TRUE", *claims.values)
    return where


class Conditions:
    """What a search without words wants. A walk lists a tag that at most so many tasks have."""

    def __init__(self, view: Counting, wanted: Wanted, listed: int) -> None:
        self._view = view
        self._listed = listed
        self._wanted = wanted

    def all(self) -> Where:
        """Return all of them, for a table with all columns."""
        wanted = self._wanted
        where = common_conditions(wanted)
        if wanted.due_until:
            where.need("due_at <= ?", wanted.due_until)
        if wanted.created_after:
            where.need(CREATED_AFTER, wanted.created_after)
        return where

    def rest(self) -> Where:
        """Return all of them, with tags as they are looked up for tasks that are there already."""
        where = common_conditions(replace(self._wanted, tags=()))
        where.add(self.later(is_walk=False))
        return where

    def later(self, *, is_walk: bool) -> Where:
        """Return those that no index in list order has: by the sort key, and by tags."""
        where = by_key(self._wanted)
        where.add(self.of_tags(is_walk=is_walk))
        return where

    def of_tags(self, *, is_walk: bool) -> Where:
        """Return those by tags."""
        where = Where()
        for tag in self._wanted.tags:
            where.need(LISTED_TAG if is_walk and self.can_be_listed(tag) else HAS_TAG, tag)
        return where

    def can_be_listed(self, tag: str) -> bool:
        """Whether so few have a tag that a walk lists them once, and looks none up by itself."""
        return self._view.having_tag(tag, self._listed) <= self._listed
