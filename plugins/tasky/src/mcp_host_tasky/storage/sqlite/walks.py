"""Walks through tasks in an order, along an index: which ranges of which index can match, and what
is to be looked at besides."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...model import Status, Wanted
from ..sql import Where, common_conditions, told_by_row
from .source import Source

_READY = "status = 'pending' AND open_blockers = 0 AND held_up = 0"


class Order(NamedTuple):
    """An order of tasks, and the condition that they stand past a place in it."""

    by: str
    past: str
    place: Sequence[Any]


def listed(after: str) -> Order:
    """The order of every list, past a sort key."""
    return Order("sort_key", "sort_key > ?", (after,))


def unblocking(after: tuple[int, str] | None) -> Order:
    """What unblocks most first, past one with so many and that sort key."""
    by = "unblocks DESC, sort_key"
    if after is None:
        return Order(by, "true", ())
    return Order(by, "(unblocks < ? OR (unblocks = ? AND sort_key > ?))", (after[0], *after))


class Walks:
    """The walks to what a search wants."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def parts(self, order: Order) -> Iterator[tuple[str, Where, Where]]:
        """Give the parts of a walk in order: each an index, a range of it, and what the sort key
        tells besides."""
        if "unblocks" in order.by:
            where = Where()
            where.need(_READY)
            where.need(order.past, *order.place)
            yield "tasks_unblocking", where, self.in_key(self._wanted)
            return
        for where in self.ranges(*order.place):
            in_key = self.in_key(replace(self._wanted, priority=None, due_until=None))
            yield self.index, where, in_key

    @property
    def index(self) -> str:
        """The index that a walk in list order goes along."""
        if self._wanted.waiting:
            return "tasks_waiting"
        return "tasks_order" if self._wanted.ready_for is None else "tasks_ready"

    @property
    def status(self) -> Status | None:
        """The status that a walk in list order is to look for; the indexes of what is ready, or
        waits, have none but pending tasks."""
        if self._wanted.ready_for is not None or self._wanted.waiting:
            return None
        return self._wanted.status

    def ranges(self, after: str = "", *, has_status: bool = True) -> list[Where]:
        """Return the parts of the list that can match, past a place, each a range of its index: in
        each priority what is due comes first. They are of the wanted status, if told so."""
        wanted = self._wanted
        levels = [5 - wanted.priority] if wanted.priority else list(range(5))
        ends = [(f"{level}", f"{level}{wanted.due_until or ''}~") for level in levels]
        if not wanted.due_until:
            ends = [(ends[0][0], ends[-1][1])]
        own = wanted.only(ready_for=wanted.ready_for, waiting=wanted.waiting)
        found = []
        for low, high in ends:
            if after < high:
                where = Where()
                where.need("sort_key > ? AND sort_key < ?", max(low, after), high)
                # What the index of those has no others of, and SQLite wants to be told.
                where.add(common_conditions(own))
                if has_status and self.status:
                    where.need("status = ?", self.status.value)
                found.append(where)
        return found

    def beside(self, index: str) -> Where:
        """Return the conditions that the index of a walk knows nothing of."""
        rest = told_by_row(self._wanted)
        if index == "tasks_ready":
            rest = replace(rest, ready_for=None)
        if index == "tasks_waiting":
            rest = replace(rest, waiting=False)
        return common_conditions(rest)

    def in_key(self, wanted: Wanted) -> Where:
        """Return the conditions on times and priority, which are looked up in the sort key."""
        where = common_conditions(wanted.only(priority=wanted.priority))
        if wanted.due_until:
            where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
        return where


def entries(index: str, where: Where) -> Source:
    """Return all entries of a part of a walk."""
    return Source(f"SELECT number FROM tasks INDEXED BY {index} WHERE {where}", where.values)


def elsewhere(rest: Where) -> str:
    """Return the condition that a task's row of `places` fulfils others."""
    return f"EXISTS (SELECT 1 FROM places WHERE places.number = tasks.number AND {rest})"


def claimed(wanted: Wanted) -> Source | None:
    """Return what somebody holds, if that is wanted."""
    if wanted.claimed_by is None and wanted.held_by is None and not wanted.held:
        return None
    sql = "SELECT number FROM tasks INDEXED BY tasks_claimed WHERE claimed_until > ?"
    return Source(sql, (wanted.now,))


def new(wanted: Wanted) -> Source | None:
    """Return what is new enough, if that is wanted."""
    if not wanted.created_after:
        return None
    sql = "SELECT number FROM tasks INDEXED BY tasks_created WHERE created_at > ?"
    return Source(sql, (wanted.created_after,))
