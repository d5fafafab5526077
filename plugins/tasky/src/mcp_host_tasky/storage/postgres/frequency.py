"""How many tasks of PostgreSQL's have the words of a search, as far as that is soon known."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from ...model import Status, Wanted
from ..sql import are_surely_more, drawn
from ..store import COUNTED
from . import limits
from .conditions import HAS_WORDS, dates
from .listing import array
from .text_query import KnownWords, TextQuery


class View(KnownWords, Protocol):
    """What this room needs of a view of the store."""

    def counted(self, status: Status | None) -> int: ...

    def last_number(self) -> int: ...

    def count(self, matches: str, values: Sequence[Any], most: int = COUNTED) -> int: ...


class Frequency:
    """How frequent the words are: by the planner's statistics, and by texts that are read."""

    def __init__(self, view: View, wanted: Wanted, words: TextQuery) -> None:
        self._view = view
        self._wanted = wanted
        self._words = words
        self._query = words.text
        self._known_sample: tuple[int, int] | None = None
        self._known_estimate: int | None = None

    def is_proven_common(self) -> bool:
        """Whether more tasks than are counted have the words, where that is soon known: by the
        sample; of one word by the database's statistics, where the sample does not speak against
        them; by what the planner knows of common words that begin so; or by counting where very
        many seem to have them. To list all that have the words takes the database longer."""
        found, looked_at = self._sample()
        among = self._view.counted(None)
        if are_surely_more(found, looked_at, COUNTED, among):
            return True
        if found * among > looked_at * limits.LIKELY:
            more, also_looked_at = self._drawn(limits.LARGER_SAMPLE)
            if are_surely_more(found + more, looked_at + also_looked_at, COUNTED, among):
                return True
        if some := self._words.of_some():
            if self._have_more(some):
                return True
        elif self._is_one_word and not self._wanted.tags and not self._words.is_spelt_out:
            # The statistics may be of before many changes.
            is_likely = found > looked_at * COUNTED / among / 2
            if self._estimated() > limits.SURE and is_likely:
                return True
        if self._words.beginnings:
            return False  # to collect what begins alike takes the index long, for a count as well
        return self.share * among > limits.SOON_MET and self._have_more(self._query)

    def _have_more(self, query: str) -> bool:
        """Whether more than are counted match a text search, as counting them tells: that is
        cheaper than to list them."""
        # Found first: else the database could read all texts up to the last of those.
        every = f"WITH every AS MATERIALIZED (SELECT 1 FROM words WHERE {HAS_WORDS})"
        return self._view.count(f"{every} SELECT 1 FROM every", (query,)) > COUNTED

    @property
    def _is_one_word(self) -> bool:
        return len(self._wanted.words) == 1

    @cached_property
    def share(self) -> float:
        """About which part of the texts has what is wanted: by the planner's statistics of one
        word that few have, else by texts that are read."""
        if not self._is_one_word or self._words.beginnings:
            return self._sampled()
        # For the planner each word that it does not know has a share, and each condition is
        # independent of the others: many rare words seem frequent, and what goes together rare.
        among = max(1, self._view.counted(None))
        if self._estimated() > limits.SORTED and self._words.is_spelt_out:
            return self._sampled()
        words = self._words.of_words()
        if words != self._query and self._expected(words) > limits.SORTED:
            return self._sampled()
        return self._estimated() / among

    @cached_property
    def dated(self) -> dict[str, int]:
        """About how many tasks each of the wanted dates leaves, by its value, as far as the planner
        knows."""
        return {
            day: planned(self._view, f"SELECT 1 FROM tasks WHERE {date}", day)
            for date, day in dates(self._wanted)
        }

    def _estimated(self) -> int:
        """Return how many tasks have the words as far as the planner knows, which takes several
        words for independent."""
        if self._known_estimate is None:
            self._known_estimate = self._expected(self._query)
        return self._known_estimate

    def _expected(self, query: str) -> int:
        return planned(self._view, f"SELECT 1 FROM words WHERE {HAS_WORDS}", query)

    def _sampled(self) -> float:
        """Return which part of the drawn texts has the words."""
        found, looked_at = self._sample()
        return found / max(1, looked_at)

    def _sample(self) -> tuple[int, int]:
        """Return how many of some drawn texts have the words, and how many texts that were."""
        if self._known_sample is None:
            self._known_sample = self._drawn(limits.SAMPLE)
        return self._known_sample

    def _drawn(self, most: int) -> tuple[int, int]:
        numbers = drawn(self._view.last_number(), most)
        ((found, looked_at),) = self._view.rows(
            f"SELECT count(*) FILTER (WHERE {HAS_WORDS}), count(*) FROM words "
            "WHERE number = ANY (?::bigint[])",
            (self._query, array(numbers)),
        )
        return found, looked_at


def planned(view: KnownWords, sql: str, value: str) -> int:
    """Return how many rows the planner expects of a SELECT with one value."""
    ((plan,),) = view.rows(f"EXPLAIN (FORMAT JSON) {sql}", (value,))
    return int(plan[0]["Plan"]["Plan Rows"])
