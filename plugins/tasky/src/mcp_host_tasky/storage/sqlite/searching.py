"""How a search of the SQLite store goes: past which tasks, and by which index.

The index of words (see `texts`) finds what has words, tags and a status, by number. Few are
gathered: all other conditions, and the place in a list, stand in narrow rows by number (`places`),
so that no task's row is read. Of many, the tasks are walked in the order asked
for, and the text of each is looked at until the page is full.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

from ...model import Wanted
from ..sql import Where, common_conditions, fits
from ..store import COUNTED, EXAMINED
from . import asking
from .asking import Asked, asked, first_of_new, is_void
from .places import count_of, joined, size_of, sorted_of
from .source import NONE, Source, kept_of, matching
from .texts import needles
from .walks import Order, Walks, claimed, elsewhere, entries, listed, new, unblocking

GATHERED = 18_000
"""Up to so many tasks that may match are gathered and sorted; more are met soon on a walk."""
MANY = max(GATHERED, COUNTED)  # what is more is neither gathered nor counted
SORTED = 8_000
"""Up to so many of these are looked up by number where more is asked for than the index of words
has; of more only some are, to count them, and a page is met on a walk."""
ENTRIES = 5
"""So many entries of an index are followed in the time in which a place is looked up."""
NEW = 10_000
"""What is new may stand at the end of every list, where a walk comes last: so much is gathered."""
DATED = 60_000
"""So much of it where no words are asked for: what is new stands side by side, and is soon read."""
PASSED = 20_000
"""So many tasks are met on a walk before that, as its page may be full by then."""
FEW = 2_000
"""Of so many tasks each text is read where many more have the words."""
LISTED = 60_000
"""So many tasks, which have the first letters of long beginnings, are listed to be walked along."""
PAGE = 51
"""The tasks of a usual page and one more, to reckon with."""
MERGED = 250
"""A text is read in the time in which FTS5 merges so many entries of its lists."""
LOOKED_UP = 4_000
"""So many tasks are looked up by number to count those of them that match."""
MET = 40_000
"""So many entries of the index in list order are met to count those of a status that match."""
READ_AT_ONCE = 100
READ = 4_000
"""After so many texts in vain all that have the words are gathered; of those no more are read. No
less than `FEW`."""


class View(asking.View, Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def walk(
        self, sql: str, values: Sequence[Any], size: int
    ) -> Iterator[list[tuple[Any, ...]]]: ...

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...


class Searching:
    """The tasks that a search finds in one moment of the plan.

    Invariants: `_words` finds what has the words and tags, from the number `_since` on, below which
    nothing is new enough, and `_some_words` some of it where that is sooner found; `_words` is None
    where neither is asked for. `_kept` says of how many tasks `_words` is a list, and is 0 where it
    asks the index. All that match are in `_source`, which has at most `GATHERED`; without one they
    are walked to, past what is not in `_along`, if there is that. `_reads` says that texts tell
    which tasks of the source or the walk have words and tags, and `_is_proven` that more than are
    counted do.
    """

    def __init__(self, view: View, wanted: Wanted) -> None:
        self._view = view
        self._wanted = wanted
        self._walks = Walks(wanted)
        self._since = first_of_new(view, wanted, DATED)
        self._asked = asked(view, wanted, is_new=self._since > 0)
        self._needles = needles(wanted)
        self._words = self._matching(self._asked.exact) if self._asked else None
        self._some_words: Source | None = None
        self._along: Source | None = None
        self._is_proven = False
        self._counted: int | None = None
        self._kept = 0
        self._is_wide = False
        self._where = self._conditions()
        self._source = NONE if is_void(wanted) else self._choose()
        self._reads = self._words is not None and self._source not in (self._words, NONE)
        if self._reads and wanted.status:  # which the index of words tells else, and no text
            self._where.need("status = ?", wanted.status.value)

    def first(self, order: Order, limit: int) -> list[int]:
        """Return the numbers of so many tasks, in an order past a place."""
        if self._source and self._reads:
            found = self._saying(self._sorted(self._source, order, READ))
            self._counted = len(found) if order in (listed(""), unblocking(None)) else None
            return found[:limit]
        if self._source:
            met = None
            if self._is_long(limit):
                met = self._met(order, limit, self._followed(limit), self._words)
            elif self._is_wide:
                met = self._met(order, limit, PASSED)
            return met or self._in_order(self._source, order, limit)
        found = []
        read = 0
        with closing(self._walk(order, limit)) as parts:
            for rows in parts:
                found += [row[0] for row in rows if not self._reads or fits(row[1], self._needles)]
                read += len(rows)
                if len(found) >= limit:
                    break
                if self._words and read > READ:
                    return self._sorted(self._words, order, limit)
        return found[:limit]

    def total(self) -> tuple[int, bool]:
        """Return how many match, at most one more than are counted, and whether that is of those
        that were looked at alone."""
        if self._wanted.only_status:
            return self._view.counted(self._wanted.status), False
        if self._counted is not None:
            return self._counted, False
        if self._source and self._reads:
            numbers = self._sorted(self._source, listed(""), READ)
            return len(self._saying(numbers)), False
        if self._source and self._kept > SORTED:
            return self._count_some(self._source), self._kept > LOOKED_UP
        if self._source:
            return self._count(self._source), False
        if self._words is None:
            return self._total_of_walk()
        is_told = self._wanted.only_words
        if self._is_proven and is_told:
            return COUNTED + 1, False
        some = self._some_words or self._words
        if is_told:
            return self._size(some, COUNTED), some is not self._words
        return self._count_some(some), True

    # What all that match are among

    def _choose(self) -> Source | None:
        if self._asked is None or self._words is None:
            for one, most, _ in self._others():
                if (size := self._size(one, most)) <= most:
                    self._is_wide = size > NEW
                    return one
            return None
        if self._asked.wider:
            # A text takes longer to read than many entries of the lists that FTS5 would merge.
            most = min(READ, self._asked.merged // MERGED)
            if self._has_at_most(wider := self._matching(self._asked.wider), most):
                return wider
        count = self._count_words(self._asked)
        are_many = count > GATHERED
        for one, most, read in self._others():
            # A text takes longer to read than a place to look up.
            few = read if are_many else min(read, count // 8)
            if self._has_at_most(one, min(most, few)):
                return one
            if are_many and self._has_at_most(one, most) and self._count(one) <= few:
                return one
        if are_many:
            return None
        if not count or not self._where:
            self._counted = count  # FTS5 need not intersect the same lists once more for the total
        return self._words if count else NONE

    def _count_words(self, asked: Asked) -> int:
        """Return how many tasks have the words and tags, at most one more than are gathered."""
        exact = self._matching(asked.exact)
        if asked.frequent is not None:
            frequent = self._matching(asked.frequent)
            among, tells = self._view.counted(None), not self._since  # texts of all times are drawn
            self._is_proven = tells and asked.are_surely_more(MANY, among)
            if self._is_proven:
                self._some_words = frequent
                return GATHERED + 1
            most = self._most_merged(asked, among)
            are_few = tells and asked.seem_fewer(most, among)
            # A total of what words alone tell is counted with them.
            enough = max(most, COUNTED) if self._wanted.only_words else most
            found, kept = (0, NONE) if are_few else kept_of(self._view, frequent, enough)
            if found > most:
                self._some_words = kept
                return GATHERED + 1
        elif asked.lists == 1:
            count = self._size(exact, GATHERED)
            self._is_proven = count > MANY
            return count
        count, self._some_words = kept_of(self._view, exact, GATHERED)
        self._is_proven = count > MANY
        if count <= GATHERED:
            self._words, self._kept = self._some_words, count
        return count

    def _most_merged(self, asked: Asked, among: int) -> int:
        """Return up to how many matches, of those with frequent words, the lists of all words are
        merged that begin so; where more are, a page is sooner met on a walk, which is noted."""
        if self._since or asked.expected(asked.hits_wider, among) <= LISTED:
            count, kept = kept_of(self._view, self._matching(asked.wider), LISTED)
            if count <= LISTED:
                self._along = kept
                return FEW
        texts = PAGE * among
        return min(GATHERED, max(texts // READ, texts * MERGED // max(1, asked.merged)))

    def _others(self) -> Iterator[tuple[Source, int, int]]:
        """Give the sources that may be short, how long each may be, and of how many tasks of it
        texts may be read: of more claims than of dates, as a walk past all others is the longer."""
        wanted = self._wanted
        if held := claimed(wanted):
            yield held, GATHERED, READ
        if recent := new(wanted):
            yield recent, NEW if self._words else DATED, FEW
        if wanted.due_until and self._words:
            sql = "SELECT number FROM tasks INDEXED BY tasks_due WHERE due_at <= ?"
            yield Source(sql, (wanted.due_until,)), FEW, FEW

    def _matching(self, expression: str) -> Source:
        return matching(expression, self._since)

    def _size(self, source: Source, most: int) -> int:
        return size_of(self._view, source, most)

    def _has_at_most(self, source: Source, most: int) -> bool:
        return self._size(source, most) <= most

    def _count(self, source: Source) -> int:
        return count_of(self._view, source, self._where)

    def _count_some(self, source: Source) -> int:
        """Return how many of the first of a source match, of no more than are looked up."""
        sql = f"SELECT number FROM ({source.sql}) LIMIT {LOOKED_UP}"
        return self._count(Source(sql, source.values))

    def _in_order(self, source: Source, order: Order, limit: int) -> list[int]:
        """Return the first of a source. Where the total is known, or what is new is counted sooner
        than its places are kept, these are only sorted: that takes a fourth of the time."""
        if self._words is not None and self._counted is None:
            return self._sorted(source, order, limit)
        sql = (
            f"SELECT places.number FROM {joined(source, self._where)} AND {order.past} "
            f"ORDER BY {order.by} LIMIT ?"
        )
        values = (*source.values, *self._where.values, *order.place, limit)
        return [row[0] for row in self._view.rows(sql, values)]

    def _sorted(self, source: Source, order: Order, limit: int) -> list[int]:
        """Return the first of a source, and note how many of it match."""
        found, count = sorted_of(self._view, source, self._where, order, limit)
        if count is not None:
            self._counted = count
        return found

    def _saying(self, numbers: Sequence[int]) -> list[int]:
        """Return those of the tasks whose texts have the words and tags, in their order."""
        texts = self._view.texts(numbers)
        return [number for number in numbers if fits(texts[number], self._needles)]

    # Walking

    def _is_long(self, limit: int) -> bool:
        """Whether the source is a list of so many that a page of it is sooner met on a walk past
        all others than sorted by their places."""
        if self._source is not self._words or self._kept <= (SORTED if self._where else 0):
            return False
        return self._followed(limit) < ENTRIES * self._kept

    def _followed(self, limit: int) -> int:
        """Return how many entries of an index are followed to meet so many of the list."""
        return limit * self._view.counted(None) * 3 // (2 * self._kept)

    def _met(
        self, order: Order, limit: int, followed: int, among: Source | None = None
    ) -> list[int] | None:
        """Return the numbers of so many matches, of those of a list if there is one, that are met
        among the first so many of each part of a walk in order; None where these are too few."""
        found: list[int] = []
        for index, where, besides in self._walks.parts(order):
            if among:
                besides.need(f"number IN ({among.sql})", *among.values)
            if rest := self._walks.beside(index):
                besides.need(elsewhere(rest), *rest.values)
            rows = self._view.rows(
                f"SELECT number FROM (SELECT number, {order.by.replace(' DESC', '')} FROM tasks "
                f"INDEXED BY {index} WHERE {where} ORDER BY {order.by} LIMIT ?) AS tasks "
                f"WHERE {besides} ORDER BY {order.by} LIMIT ?",
                (*where.values, followed, *besides.values, limit - len(found)),
            )
            found += [row[0] for row in rows]
            if len(found) == limit:
                return found
            if not self._has_at_most(entries(index, where), followed):
                return None  # what follows in this part comes before the next one
        return None

    def _walk(self, order: Order, limit: int) -> Generator[list[tuple[Any, ...]]]:
        """Give the numbers of tasks that fulfil the conditions, in order, some at a time; with
        their texts where these are to be looked at."""
        size = READ_AT_ONCE if self._reads else limit
        for index, where, in_key in self._walks.parts(order):
            where.add(in_key)
            yield from self._walked(index, where, order.by, size)

    def _walked(
        self, index: str, where: Where, by: str, size: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        rest = self._walks.beside(index)
        if rest:
            where.need(elsewhere(rest), *rest.values)
        source = f"tasks INDEXED BY {index}"
        sql = f"SELECT number FROM {source} WHERE {where} ORDER BY {by}"
        if self._reads:
            if self._along:
                where.need(f"tasks.number IN ({self._along.sql})", *self._along.values)
            # The order of a CROSS JOIN is that of the loops.
            sql = (
                f"SELECT tasks.number, folded FROM {source} CROSS JOIN texts "
                f"ON texts.number = tasks.number WHERE {where} ORDER BY {by}"
            )
        yield from self._view.walk(sql, where.values, size)

    def _total_of_walk(self) -> tuple[int, bool]:
        """Count what matches among the first tasks in list order; what the index of the walk has
        is not of those."""
        rest = self._walks.beside(self._walks.index)
        fits = Where()
        if created := self._wanted.created_after:
            fits.need("substr(sort_key, 22, 27) > ?", created)
        most = EXAMINED if fits else COUNTED
        status = None if rest or self._wanted.due_until else self._walks.status
        if status:
            # What few have is met past many others, which are looked at as well, though sooner.
            having = max(1, self._view.counted(status))
            all_of = EXAMINED * self._view.counted(None) // having
            most = min(MET, all_of) if fits else EXAMINED
            fits.need("status = ?", status.value)
        if rest:
            fits.need(elsewhere(rest), *rest.values)
            most = LOOKED_UP
        columns = f"number, sort_key{', status' if status else ''}"  # no more than the index has
        total = looked_at = 0
        for where in self._walks.ranges(has_status=status is None):
            sql = (
                f"SELECT {columns} FROM tasks INDEXED BY {self._walks.index} WHERE {where} "
                f"ORDER BY sort_key LIMIT {most + 1 - looked_at}"
            )
            counted = f"SELECT count(*), count(CASE WHEN {fits} THEN 1 END) FROM ({sql}) AS tasks"
            ((looked, found),) = self._view.rows(counted, (*fits.values, *where.values))
            looked_at += looked
            total += found
            if looked_at > most:
                break
        return total, bool(fits) and looked_at > most

    # Conditions

    def _conditions(self) -> Where:
        """Return the conditions that places tell, but for what the index of words is asked."""
        wanted = self._wanted
        asked = replace(wanted, words=(), tags=())
        if self._words:
            asked = replace(asked, status=None)
        where = common_conditions(replace(asked, priority=None))
        in_key = self._walks.in_key(wanted)
        where.add(in_key)
        return where
