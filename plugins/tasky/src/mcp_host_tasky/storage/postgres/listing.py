"""A list of the tasks that have the words of a search, where they are some thousands.

To look up each of them takes longer than to meet enough of them on a walk along an index in the
wanted order, past tasks that are not in the list: so only few are looked up.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ...model import Status, Wanted
from ..sql import Where, common_conditions
from ..store import COUNTED
from . import limits
from .conditions import EVERY, HAS_TAG, HAS_WORDS, IN_ROW, LISTED_TAG, Conditions, by_key, dates
from .walk import NUMBER, WALK, WALK_UNBLOCKING, WALK_WAITING

_EVERY_HAS_TAG = "EXISTS (SELECT 1 FROM tagged WHERE tag = ? AND tagged.number = every.number)"
_IN_LIST = "(number IN (SELECT unnest(?::bigint[]))) IS TRUE"


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]: ...

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def count(self, matches: str, values: Sequence[Any], most: int = COUNTED) -> int: ...


def array(numbers: Collection[int]) -> str:
    """Return numbers as the database writes an array: the driver takes ten times as long."""
    return f"{{{','.join(map(str, numbers))}}}"


class First(NamedTuple):
    """The numbers of the first matches past a place, how many match in all, and whether that is of
    those that were looked at alone."""

    numbers: list[int]
    total: int
    is_part: bool = False


class Listing:
    """The tasks with the words and tags of a search, and pages of those among them that fulfil its
    conditions."""

    def __init__(self, view: View, wanted: Wanted, query: str, conditions: Conditions) -> None:
        self._view = view
        self._wanted = wanted
        self._query = query
        self._conditions = conditions
        self._made: dict[int, list[int] | None] = {}
        """The lists that were made already, by up to how many they are: to find what unblocks most
        takes one twice."""

    def numbers(self, most: int | None = None) -> list[int] | None:
        """Return the numbers of all that have the words and tags, and the dates that leave few;
        None where they are more than so many."""
        most = limits.SORTED if most is None else most
        if most not in self._made:
            where = Where()
            for tag in self._wanted.tags:
                where.need(_EVERY_HAS_TAG, tag)
            for date, value in self._dates_of_few:
                where.need(f"(number IN (SELECT {NUMBER} FROM tasks WHERE {date})) IS TRUE", value)
            ((found,),) = self._view.rows(
                f"{EVERY} SELECT ARRAY(SELECT number FROM every WHERE {where} LIMIT {most + 1})",
                (self._query, *where.values),
            )
            self._made[most] = found if len(found) <= most else None
        return self._made[most]

    @property
    def is_narrowed(self) -> bool:
        """Whether it holds tags or dates as well, and so perhaps few of those with the words."""
        return bool(self._wanted.tags or self._dates_of_few)

    @property
    def is_made(self) -> bool:
        """Whether that list was made before, for what else was asked of the same search."""
        return self._made.get(limits.SORTED) is not None

    @cached_property
    def _dates_of_few(self) -> list[tuple[str, str]]:
        """The conditions of dates that so few tasks fulfil that these are listed as well."""
        most = limits.OF_DATES
        return [
            (date, value)
            for date, value in dates(self._wanted)
            if self._view.count(f"SELECT 1 FROM tasks WHERE {date}", (value,), most) <= most
        ]

    def in_order(
        self, numbers: list[int], after: str, limit: int, followed: int, *, count: bool
    ) -> list[int] | None:
        """Return the numbers of the first matches past a sort key that are met among the first so
        many on a walk in list order, with `count` of more than a page; None where they are not
        more than the limit."""
        if not followed:
            return None
        wanted = self._wanted
        own = replace(wanted, tags=(), waiting=False)
        if wanted.waiting:
            own = replace(own, status=Status.PENDING)
        where = common_conditions(own)
        rest = by_key(wanted)
        if wanted.waiting:
            rest.need("(open_blockers > 0 OR held_up = 1)")
        source = f"{WALK_WAITING if wanted.waiting else WALK} WHERE {where} AND sort_key > ?"
        walk = f"{source} ORDER BY sort_key LIMIT {followed}"
        most = max(limits.MET, limit) if count else limit
        rows = self._view.rows(
            f"SELECT number FROM ({walk}) AS tasks WHERE {_IN_LIST} AND {rest} "
            "ORDER BY sort_key LIMIT ?",
            (*where.values, after, array(numbers), *rest.values, most + 1),
        )
        return [row[0] for row in rows] if len(rows) > limit else None

    def most_unblocking(
        self,
        numbers: list[int] | None,
        after: tuple[int, str] | None,
        limit: int,
        followed: int | None,
    ) -> list[int] | None:
        """Return the numbers of the first matches, what unblocks most first, that are met on a walk
        in that order, past what is not in the list, if there is one; None where it meets too few
        of them among the first so many."""
        if followed == 0:
            return None
        wanted = self._wanted
        met = by_key(wanted)
        if numbers is not None:
            met.need(_IN_LIST, array(numbers))
        if wanted.priority:
            level = common_conditions(wanted.only(priority=wanted.priority))
            met.need(str(level), *level.values)
        for tag in wanted.tags if numbers is None else ():
            met.need(LISTED_TAG if self._conditions.can_be_listed(tag) else HAS_TAG, tag)
        if numbers is None and wanted.words:  # last, as a text takes the longest to look up
            met.need(HAS_WORDS.format("tasks"), self._query)
        claims = common_conditions(replace(wanted, tags=(), priority=None))
        if after:
            met.need("(unblocks < ? OR (unblocks = ? AND sort_key > ?))", after[0], *after)
        order = "ORDER BY unblocks DESC, sort_key LIMIT"
        rows = self._view.rows(
            f"SELECT number FROM ({WALK_UNBLOCKING} {order} ?) AS tasks "
            f"WHERE {met} "
            f"AND {IN_ROW.format(claims)} {order} ?",
            (followed, *met.values, *claims.values, limit),
        )
        return [row[0] for row in rows] if followed is None or len(rows) == limit else None
