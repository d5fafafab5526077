"""What the index of words is asked for a search."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ...model import Status, Wanted
from ..sql import EXPANSIONS, SHORTEST_PREFIX, status_word
from .texts import beginning_word, tag_word


class View(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def known(self, word: str) -> list[str] | None: ...


class Asked(NamedTuple):
    """Expressions of FTS5.

    Where more words begin as asked than are spelt out, FTS5 merges the lists of all of them before
    it answers anything. For that case there are two more.
    """

    exact: str
    """What finds all that has the words and tags."""
    lists: int
    """How many lists it intersects."""
    frequent: str | None = None
    """What finds some of that: those with the most frequent words that begin so."""
    without: str | None = None
    """What finds more than that: as though such beginnings were not asked for."""
    merged: int = 0
    """How many entries those lists have."""


def asked(view: View, wanted: Wanted) -> Asked | None:
    """Return what to ask for the status, the tags, and for each word whether one begins so; None
    where there are neither words nor tags."""
    if not wanted.words and not wanted.tags:
        return None
    statuses = {wanted.status} if wanted.status else set()
    if wanted.ready_for is not None or wanted.waiting:
        statuses.add(Status.PENDING)
    plain = [f'"{status_word(status)}"' for status in sorted(statuses)]
    at_least = len(plain)
    plain += [f'"{tag_word(tag)}"' for tag in wanted.tags]
    prefixes, frequent = [], []
    merged = 0
    for word in wanted.words:
        if spelt := _spelt(view, word):
            plain.append(spelt)
        else:
            prefixes.append(f'"{word}" *')
            often, entries = _most_frequent(view, word)
            frequent.append(often)
            merged += entries
    exact, lists = " AND ".join([*plain, *prefixes]), len(plain) + len(prefixes)
    if not prefixes:
        return Asked(exact, lists)
    without = " AND ".join(plain) if len(plain) > at_least else None
    return Asked(exact, lists, " AND ".join([*plain, *frequent]), without, merged)


def _spelt(view: View, word: str) -> str | None:
    """Return what finds a word, or the words that begin so; None where they are many."""
    if len(word) < SHORTEST_PREFIX:
        return f'"{word}"'
    if len(word) == SHORTEST_PREFIX:
        return f'"{beginning_word(word)}"'
    known = view.known(word)
    if known is None:
        return None
    return _one_of(known or [word])


def _most_frequent(view: View, word: str) -> tuple[str, int]:
    """Return what finds the most frequent words that begin so, and how many entries all have."""
    found = view.rows(
        "SELECT term, sum(doc) OVER () FROM occurrences WHERE term >= ? AND term < ? "
        "ORDER BY doc DESC LIMIT ?",
        (word, word + "\U0010ffff", EXPANSIONS),
    )
    return _one_of([row[0] for row in found] or [word]), found[0][1] if found else 0


def _one_of(words: Sequence[str]) -> str:
    spelt = " OR ".join(f'"{word}"' for word in words)
    return f"({spelt})"
