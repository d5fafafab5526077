"""The conditions of a search of PostgreSQL, as they are looked up one way or another."""

from dataclasses import replace
from typing import Protocol

from ...model import Wanted
from ..sql import LISTED, Where, common_conditions, told_by_row

HAS_WORDS = "(SELECT words @@ ?::tsquery FROM words WHERE words.number = {}.number)"
# As values: the planner would join the table, and list all that have the tag where few are asked.
HAS_TAG = "(SELECT true FROM tagged WHERE tag = ? AND tagged.number = tasks.number)"
IN_ROW = "(SELECT {} FROM tasks AS row WHERE row.number = tasks.number)"
EVERY = "WITH every AS MATERIALIZED (SELECT number FROM words WHERE words @@ ?::tsquery)"
"""All tasks that have the words. To be found before anything else is asked of them: the planner
takes words for independent, of two that never meet it expects many, and would read all texts to
meet the first."""
LISTED_TAG = "(number IN (SELECT number FROM tagged WHERE tag = ?)) IS TRUE"


class Counting(Protocol):
    """What this room needs of a view of the store."""

    def having_tag(self, tag: str, most: int) -> int:
        """How many tasks have a tag, at least one more than so many where more have it."""


def dates(wanted: Wanted) -> list[tuple[str, str]]:
    """Return those by dates, each as an index has it, with its value."""
    given = (("created_at > ?", wanted.created_after), ("due_at <= ?", wanted.due_until))
    return [(date, value) for date, value in given if value]


def by_key(wanted: Wanted) -> Where:
    """Return those by dates, as the sort key has them."""
    where = Where()
    if wanted.due_until:
        where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
    if wanted.created_after:
        where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
    return where


class Conditions:
    """What a search wants besides words. A walk lists a tag that at most so many tasks have."""

    def __init__(self, view: Counting, wanted: Wanted, listed: int | None = None) -> None:
        self._view = view
        self._listed = LISTED if listed is None else listed
        self._wanted = wanted

    def all(self) -> Where:
        """Return all of them, for a table with all columns."""
        wanted = self._wanted
        where = common_conditions(wanted)
        for date, value in dates(wanted):
            where.need(date, value)
        return where

    def rest(self, *, is_walk: bool = False) -> Where:
        """Return all of them, with tags as they are looked up for tasks that are there already."""
        where = common_conditions(replace(self._wanted, tags=()))
        later = self.later(is_walk=is_walk)
        where.need(str(later), *later.values)
        return where

    def later(self, *, is_walk: bool = False) -> Where:
        """Return those that no index in list order has: by the sort key, and by tags."""
        where = by_key(self._wanted)
        for tag in self._wanted.tags:
            where.need(LISTED_TAG if is_walk and self.can_be_listed(tag) else HAS_TAG, tag)
        return where

    def told_apart(self) -> tuple[Where, Where]:
        """Return those that indexes by number or by tag tell, and those that are to be looked up in
        the row of a task."""
        wanted = self._wanted
        rest = Where()
        if told := common_conditions(told_by_row(wanted)):
            rest.need(IN_ROW.format(told), *told.values)
        apart = wanted.only(
            status=wanted.status,
            tags=wanted.tags,
            priority=wanted.priority,
            due_until=wanted.due_until,
            created_after=wanted.created_after,
        )
        return Conditions(self._view, apart).rest(is_walk=True), rest

    def can_be_listed(self, tag: str) -> bool:
        """Whether so few have a tag that a walk lists them once, and looks none up by itself."""
        return self._view.having_tag(tag, self._listed) <= self._listed
