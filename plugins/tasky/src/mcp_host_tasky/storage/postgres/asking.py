"""What PostgreSQL's index of words is asked for, among the ways to find what has the words of a
search: each longer word is spelt out, is asked for as a beginning, or is left out but for its first
letters. What has all but some words is read for these."""

from collections.abc import Collection, Mapping
from math import inf
from typing import NamedTuple, Protocol

from ..sql import beginning_of
from . import limits
from .lexemes import is_longer
from .text_query import TextQuery, lexemes_in


class Known(Protocol):
    """What this room needs to know of how frequent things are."""

    @property
    def having(self) -> Mapping[str, int]:
        """About how many tasks have each of the words; nothing where no texts were drawn."""

    def least(self, words: Collection[str]) -> int:
        """About how many tasks have the rarest of some words, and of what else is wanted."""

    def having_all(self, words: Collection[str]) -> float:
        """About how many tasks have all of some words, and what else is wanted."""


class Asked(NamedTuple):
    """One way to ask. Times are in microseconds."""

    query: str
    """The text search that the index is asked for."""
    takes: float
    """About how long it takes to find all of that, and to read what is to be read."""
    is_all: bool
    """Whether each task that it finds has all the words; else its text is read."""


def asked(words: TextQuery, known: Known) -> Asked:
    """Return the way that is reckoned to take the least time."""
    longer = sorted(filter(is_longer, known.having), key=known.having.__getitem__)
    parts = [longer[count:] for count in range(len(longer) + 1)]
    return min((_all_but(one, words, known) for one in parts), key=lambda way: way.takes)


def comparing_takes(query: str, least: int) -> float:
    """About how long the index takes to find the first match of a text search: it compares tasks
    that have the rarest of it with all that it names."""
    return limits.LIST_TAKES + limits.LEXEME_TAKES * lexemes_in(query) * least


def _all_but(left_out: Collection[str], words: TextQuery, known: Known) -> Asked:
    kept = {word: count for word, count in known.having.items() if word not in left_out}
    instead = [*kept, *map(beginning_of, left_out)]
    least = known.least(instead)
    # Of a beginning the index collects all tasks first; of known words it compares fewer with each.
    begun = {word: count for word, count in kept.items() if _is_begun(word, count, words, least)}
    query = words.asked(begun, left_out)
    takes = comparing_takes(query, least) + limits.BEGUN_TAKES * sum(begun.values())
    if not left_out:
        return Asked(query, takes, is_all=True)
    read = known.having_all(instead)
    reading = limits.READ_TAKES * read if read <= limits.NARROW else inf
    return Asked(query, takes + reading, is_all=False)


def _is_begun(word: str, count: int, words: TextQuery, least: int) -> bool:
    spelt = words.known(word)
    if spelt is None:
        return True
    return limits.LEXEME_TAKES * spelt * least > limits.BEGUN_TAKES * count
