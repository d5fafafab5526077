"""Which tasks have the words and tags of a search: by lists of their numbers where these are not
long, else by a look at each task's text and tags."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

from ...model import Wanted
from ..sql import LISTED, says

SOUNDED = 10_000
"""The place of this match tells about how many there are, since they come by number."""
LISTED_TAG = 20_000
"""Up to so many tasks that have a tag are listed."""
LOOKED_UP = 30_000
"""Up to so many tasks that have the words are looked up one by one for a tag."""
READ_AT_ONCE = 200
READ = 3_000
"""So many texts are read before the tasks that have the words are listed after all."""


class Matches:
    """The numbers of tasks that have words, asked of FTS5 once and no further than is needed: what
    it takes to find the first is often most of what it takes to find all."""

    def __init__(self, cursor: sqlite3.Cursor | None) -> None:
        self.numbers: list[int] = []
        """Those that were asked for so far, the lowest first."""
        self._cursor = cursor

    def has_more_than(self, count: int) -> bool:
        missing = count + 1 - len(self.numbers)
        if self._cursor and missing > 0:
            self.numbers += [row[0] for row in self._cursor.fetchmany(missing)]
        return len(self.numbers) > count

    def close(self) -> None:
        if self._cursor:
            self._cursor.close()


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def last_number(self) -> int: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...


class Sieve:
    """The words and tags of a search.

    Invariants: a task passes that is in each of `_lists`, has each of `_tags`, and where `_reads`
    is set, whose text has the words. `few` are all that pass where they could be listed.
    """

    def __init__(self, view: View, wanted: Wanted, matches: Matches) -> None:
        self._view = view
        self._words = wanted.words
        self._matches = matches
        self._lists: list[set[int]] = []
        self._tags: list[str] = []
        self._reads = bool(wanted.words) and self._are_many()
        self._has_read = 0
        self.few: set[int] | None = None
        if wanted.words and not self._reads:
            self._lists.append(set(matches.numbers))
        for tag in wanted.tags:
            self._take(tag)
        self._join()

    def passing(self, numbers: Sequence[int], enough: int) -> Iterator[int]:
        """Give those of the tasks that pass, in their order; more than `enough` are not asked."""
        left = self.with_tags(numbers)
        if not self._reads:
            yield from left
            return
        for start in range(0, len(left), READ_AT_ONCE):
            found = self._saying(left[start : start + READ_AT_ONCE])
            yield from found
            enough -= len(found)
            if enough <= 0:
                return

    def settle(self) -> None:
        """Look all that have the words up for their tags, if these are listed: a walk past them
        has taken longer than that."""
        self._join(most=LISTED)

    def worded(self, count: int) -> list[int]:
        """Return so many of the tasks that have the words."""
        self._matches.has_more_than(count - 1)
        return self._matches.numbers[:count]

    def close(self) -> None:
        self._matches.close()

    def rarest(self) -> set[int] | None:
        """Return the shortest list in which all that pass are."""
        return min(self._lists, key=len, default=None)

    def has_short_list(self, most: int) -> bool:
        """Whether all that pass are in a list of at most so many."""
        return any(len(numbers) <= most for numbers in self._lists)

    def with_tags(self, numbers: Sequence[int]) -> list[int]:
        """Return those of tasks with the words that have the tags as well."""
        left = [one for one in numbers if all(one in numbers_of for numbers_of in self._lists)]
        for tag in self._tags:
            left = self._tagged(left, tag)
        return left

    def _saying(self, numbers: Sequence[int]) -> list[int]:
        """Return those of the tasks whose texts have the words."""
        self._has_read += len(numbers)
        texts = self._view.texts(numbers)
        if self._has_read > READ and not self._matches.has_more_than(LISTED):
            self._reads = False
            self._lists.append(set(self._matches.numbers))
        return [number for number in numbers if says(texts[number], self._words)]

    def _are_many(self) -> bool:
        """Whether more have the words than are listed, by a guess where it would take long."""
        if not self._matches.has_more_than(SOUNDED):
            return False
        share = SOUNDED / max(1, self._matches.numbers[SOUNDED])
        return share * self._view.last_number() > LISTED or self._matches.has_more_than(LISTED)

    def _take(self, tag: str) -> None:
        sql = f"SELECT 1 FROM tagged WHERE tag = ? LIMIT {LISTED_TAG + 1}"
        ((count,),) = self._view.rows(f"SELECT count(*) FROM ({sql})", (tag,))
        if count > LISTED_TAG:
            self._tags.append(tag)
        else:
            found = self._view.rows("SELECT number FROM tagged WHERE tag = ?", (tag,))
            self._lists.append({row[0] for row in found})

    def _join(self, most: int = LOOKED_UP) -> None:
        """Make one list of all, and look the other tags up where it is short."""
        if not self._lists:
            return
        first, *others = sorted(self._lists, key=len)
        both = first.intersection(*others)
        if self._tags and len(both) <= most:
            numbers = sorted(both)
            for tag in self._tags:
                numbers = self._tagged(numbers, tag)
            both, self._tags = set(numbers), []
        self._lists = [both]
        if not self._tags and not self._reads:
            self.few = both

    def _tagged(self, numbers: Sequence[int], tag: str) -> list[int]:
        """Return those of the tasks that have a tag."""
        clause, value = self._view.among(numbers)
        # SQLite looks each up by itself: to list all that have the tag takes longer.
        sql = f"SELECT number FROM tagged WHERE tag = ? AND number {clause}"
        having = {row[0] for row in self._view.rows(sql, (tag, value))}
        return [number for number in numbers if number in having]
