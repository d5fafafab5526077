"""How many tasks of PostgreSQL's have the words of a search, as far as that is soon known."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Collection, Sequence
from functools import cached_property
from math import prod
from typing import Any, Protocol

from ...model import Status, Wanted
from ..sql import Drawing, Drawn, drawn, drawn_for
from ..store import COUNTED
from . import limits
from .asking import Asked, asked, comparing_takes
from .conditions import HAS_WORDS
from .listing import array
from .text_query import KnownWords, TextQuery
from .walk import CREATED, CREATED_AFTER, DUE, end_of_due


class View(KnownWords, Drawing, Protocol):
    """What this room needs of a view of the store."""

    def counted(self, status: Status | None) -> int: ...

    def last_number(self) -> int: ...

    def count(self, matches: str, values: Sequence[Any], most: int = COUNTED) -> int: ...


_APART_COUNTS = 3
"""What is reckoned from each condition apart counts as much as a sample that has so many of it."""


class Frequency:
    """How frequent the words are: by the planner's statistics, and by texts that are read."""

    def __init__(self, view: View, wanted: Wanted, words: TextQuery) -> None:
        self._view = view
        self._wanted = wanted
        self._words = words
        self._query = words.text
        self._counted: dict[str, int] = {}

    def is_proven_common(self) -> bool:
        """Whether more tasks than are counted have the words, where that is soon known: by the
        sample; of one word by the database's statistics, where the sample does not speak against
        them; or by what the planner knows of common words that begin so. To list all that have the
        words takes the database longer."""
        if self.expected <= limits.SURE:
            return False
        among, found, looked_at = self.among, self._found, self._drawn.size
        if self._drawn.are_surely_more(found, COUNTED, among):
            return True
        if found * among > looked_at * limits.LIKELY:
            more = self._view.drawn(limits.SAMPLE, more=True)
            if more.are_surely_more(self._hits(more, self._needles), COUNTED, among):
                return True
        if not self._wanted.tags and (some := self._words.of_some()):
            comparing = comparing_takes(some, self.least(self._wanted.words))
            takes = comparing + limits.ENTRY_TAKES * COUNTED
            return takes <= limits.SOON_TOLD and self._have_more(some)
        if self._is_one_word and not self._wanted.tags and not self._words.is_spelt_out:
            # The statistics may be of before many changes.
            is_likely = found > looked_at * COUNTED / among / 2
            return self._estimated > limits.SURE and is_likely
        return False

    def _have_more(self, query: str) -> bool:
        """Whether more than are counted match a text search, as counting them tells: that is
        cheaper than to list them."""
        # Found first: else the database could read all texts up to the last of those.
        every = f"WITH every AS MATERIALIZED (SELECT 1 FROM words WHERE {HAS_WORDS})"
        return self._view.count(f"{every} SELECT 1 FROM every", (query,)) > COUNTED

    @property
    def _is_one_word(self) -> bool:
        return len(self._wanted.words) == 1

    @property
    def expected(self) -> float:
        """About how many tasks have what is wanted."""
        return max(1.0, self.share * self.among)

    @cached_property
    def share(self) -> float:
        """About which part of the texts has what is wanted: by the planner's statistics of one
        word that few have, else by texts that are read."""
        return self._sampled() if self._is_sampled else self._estimated / self.among

    @cached_property
    def _is_sampled(self) -> bool:
        """Whether texts are read to learn how many tasks have what is wanted. For the planner each
        word that it does not know has a share, and each condition is independent of the others:
        many rare words seem frequent, and what goes together rare."""
        if not self._is_one_word or self._words.many:
            return True
        if self._words.is_spelt_out and self._estimated > limits.FEW:
            return True
        words = self._words.of_words()
        return words != self._query and self._expected(words) > limits.SORTED

    @cached_property
    def new(self) -> int:
        """About how many tasks are new enough, as far as the planner knows."""
        after = self._wanted.created_after
        new = f"SELECT 1 FROM tasks WHERE {CREATED_AFTER}"
        return max(1, planned(self._view, new, after)) if after else self.among

    @cached_property
    def among(self) -> int:
        """How many tasks there are."""
        return max(1, self._view.counted(None))

    @cached_property
    def tagged(self) -> list[int]:
        """About how many tasks have each of the wanted tags, as far as the planner knows."""
        tagged = "SELECT 1 FROM tagged WHERE tag = ?"
        return [planned(self._view, tagged, tag) for tag in self._wanted.tags]

    @cached_property
    def status_share(self) -> float:
        """Which part of all tasks has the wanted status."""
        statuses = self._words.statuses
        return prod(self._view.counted(status) / self.among for status in statuses)

    @cached_property
    def tagged_share(self) -> float:
        """About which part of all tasks has all the wanted tags, if they are independent."""
        return prod(min(1, count / self.among) for count in self.tagged)

    @cached_property
    def asked(self) -> Asked:
        """What the index of words is asked for."""
        return asked(self._words, self)

    @cached_property
    def having(self) -> dict[str, int]:
        """About how many tasks have each of the words. Of what no drawn text has there may be
        some. Nothing is known where no texts are drawn."""
        return {word: self._having(word) for word in self._wanted.words if self._is_sampled}

    def _having(self, word: str) -> int:
        if word not in self._counted:
            found = max(1, self._drawn.hits(self._words.needles([word])))
            self._counted[word] = found * self.among // max(1, self._drawn.size)
        return self._counted[word]

    def least(self, words: Collection[str]) -> int:
        """About how many tasks the index of words compares with all that is wanted: it goes by what
        the fewest have. Drawn texts tell of words: the planner adds up those that begin alike."""
        counts = [self._having(word) for word in words] if self._is_sampled else [self._estimated]
        new = [self.new] if self._words.has_months else []
        return min([self.among, *self.tagged, *new, *counts])

    def having_all(self, words: Collection[str]) -> float:
        """About how many tasks have some of the words, and what else the index has. Where no drawn
        text has, there may be some."""
        found = self._hits(self._drawn, self._words.needles(words))
        return self.among * max(0.5, found) / max(1, self._drawn.size)

    @cached_property
    def are_dates_soon_met(self) -> bool:
        """Whether a walk past what is due after a moment soon meets what was created after it: not
        where much is due that was created long before. So it is where only due dates are wanted."""
        new = self._wanted.created_after
        if not new:
            return bool(self._wanted.due_until)
        numbers = drawn(self._view.last_number(), limits.DATES_DRAWN)
        ((met, due),) = self._view.rows(
            f"SELECT count(*) FILTER (WHERE {CREATED} > ?), count(*) FROM tasks "
            f"WHERE number = ANY (?::bigint[]) AND {DUE} > ? AND {DUE} < ?",
            (new, array(numbers), new, end_of_due(self._wanted)),
        )
        passed: int = due - met
        are_few = passed * self.among <= len(numbers) * limits.PASSED
        return are_few or passed <= met * limits.PASSED_FOR_EACH

    @cached_property
    def _estimated(self) -> int:
        """How many tasks have the words as far as the planner knows, which takes several words for
        independent."""
        return self._expected(self._query)

    def _expected(self, query: str) -> int:
        return planned(self._view, f"SELECT 1 FROM words WHERE {HAS_WORDS}", query)

    def _sampled(self) -> float:
        """Return about which part of the texts has what is wanted, by those that are drawn. Where
        few of these have all of it, it counts as well which part has the words, and how many tasks
        have each of the other things."""
        found, looked_at = self._found, max(1, self._drawn.size)
        if self._query == self._words.of_words():
            return found / looked_at
        new = self.new / self.among if self._words.has_months else 1
        apart = (
            self._drawn.hits(self._needles)
            / looked_at
            * self.tagged_share
            * self.status_share
            * new
        )
        weight = min(looked_at, _APART_COUNTS / apart) if apart else looked_at
        return (found + weight * apart) / (looked_at + weight)

    @property
    def _needles(self) -> list[str]:
        return self._words.needles(self._wanted.words)

    def _hits(self, drawn: Drawn, words: Sequence[str]) -> int:
        """Return how many texts have some words, and what else is wanted that texts tell."""
        return drawn.hits([*words, *self._words.beside], self._words.months)

    @cached_property
    def _drawn(self) -> Drawn:
        """The texts that tell."""
        wanted = [*self._needles, *self._words.beside]
        return drawn_for(self._view, limits.SAMPLE, wanted, self._words.months)

    @cached_property
    def _found(self) -> int:
        """How many of them have what is wanted."""
        return self._hits(self._drawn, self._needles)


def planned(view: KnownWords, sql: str, value: str) -> int:
    """Return how many rows the planner expects of a SELECT with one value."""
    ((plan,),) = view.rows(f"EXPLAIN (FORMAT JSON) {sql}", (value,))
    return int(plan[0]["Plan"]["Plan Rows"])
