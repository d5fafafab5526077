"""What the index of words is asked for a search."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from ...model import SHORTEST_PREFIX, Status, Wanted
from ..sql import (
    BEGINNINGS,
    Drawn,
    beginning_of,
    drawn_for,
    needle,
    status_word,
    statuses_of,
    tag_word,
    whole,
)
from . import begun
from .begun import one_of
from .texts import beginning_word, needles

SPELT = 400
"""Up to so many words that begin alike are spelt out to look for what is new: FTS5 passes what is
old in each list by itself, and would merge lists as a whole."""

_PAST_ALL = 2**63 - 1


class View(begun.View, Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def known(self, word: str, most: int | None = None) -> list[str] | None: ...


class Asked(NamedTuple):
    """Expressions of FTS5.

    Where more words begin as asked than are spelt out, FTS5 merges the lists of all of them before
    it answers anything. For that case there are two more.
    """

    exact: str
    """What finds all that has the words and tags."""
    lists: int
    """How many lists it intersects; more than one where it merges some."""
    frequent: str | None = None
    """What finds some of that: those with the most frequent words that begin so."""
    wider: str = ""
    """What finds all of that and more: of such beginnings it asks for the first letters alone."""
    merged: int = 0
    """How many entries those lists have, about."""
    drawn: Drawn | None = None
    """Texts from all over the plan."""
    hits: int = 0
    """So many of them have all that is wanted."""
    hits_wider: int = 0
    """So many have all that the wider one asks for."""

    def are_surely_more(self, than: int, among: int) -> bool:
        """Whether more than so many have all that is wanted, among so many tasks."""
        return self.drawn is not None and self.drawn.are_surely_more(self.hits, than, among)

    def seem_fewer(self, than: int, among: int) -> bool:
        """Whether the drawn texts speak of clearly fewer: to merge the lists tells it as well."""
        return 3 * self.expected(self.hits, among) < 2 * than

    def expected(self, hits: int, among: int) -> int:
        """Return about how many of all tasks so many of the drawn texts stand for."""
        return hits * among // max(1, self.drawn.size) if self.drawn else 0


def first_of_new(view: View, wanted: Wanted, most: int) -> int:
    """Return a number below which no task is new enough, so that nothing older is looked for: what
    is new mostly has the highest numbers. It is 0 where more than so many are, or all is wanted;
    where none is, it is past all numbers."""
    if not wanted.created_after or not (wanted.words or wanted.tags):
        return 0
    new = "SELECT number FROM tasks INDEXED BY tasks_created WHERE created_at > ?"
    sql = f"SELECT count(*), min(number) FROM ({new} LIMIT {most + 1})"
    ((count, first),) = view.rows(sql, (wanted.created_after,))
    return 0 if count > most else first or _PAST_ALL


def asked(view: View, wanted: Wanted, *, is_new: bool = False) -> Asked | None:
    """Return what to ask for the status, the tags, and for each word whether one begins so; None
    where there are neither words nor tags. `is_new` says that nothing old is looked for."""
    if not wanted.words and not wanted.tags:
        return None
    statuses = statuses_of(wanted)
    plain = [f'"{status_word(status)}"' for status in statuses]
    plain += [f'"{tag_word(tag)}"' for tag in wanted.tags]
    begin, frequent = [], []
    merged = soon_merged = 0
    drawn = begun.Begun(view)
    for word in wanted.words:
        if spelt := _spelt(view, word, SPELT if is_new else None):
            plain.append(spelt)
            continue
        often, entries = drawn.most_frequent(word)
        if often is None:
            plain.append(f'"{word}" *')
            soon_merged += 1
        else:
            begin.append(word)
            frequent.append(often)
            merged += entries
    exact = " AND ".join([*plain, *(f'"{word}" *' for word in begin)])
    lists = len(plain) + len(begin) + soon_merged
    if not begin:
        return Asked(exact, lists)
    begun_so = sorted({beginning_of(word) for word in begin})
    wider = " AND ".join([*plain, *(f'"{beginning_word(one)}"' for one in begun_so)])
    others = tuple(word for word in wanted.words if word not in begin)
    beside = [whole(status_word(status)) for status in statuses]
    beside += needles(replace(wanted, words=others))
    every = [*beside, *map(needle, begin)]
    texts = drawn_for(view, begun.DRAWN, every)
    hits, hits_wider = texts.hits(every), texts.hits([*beside, *map(needle, begun_so)])
    often_too = " AND ".join([*plain, *frequent])
    return Asked(exact, lists, often_too, wider, merged, texts, hits, hits_wider)


def rarely(view: View, needles: Sequence[str]) -> str:
    """Return the expression of FTS5 for needles that few texts have."""
    return " AND ".join(
        f'"{needle.strip()}"' if needle.endswith(" ") else _begun(view, needle.strip())
        for needle in needles
    )


def _begun(view: View, word: str) -> str:
    return _spelt(view, word, None) or f'"{word}" *'


def _spelt(view: View, word: str, most: int | None) -> str | None:
    """Return what finds a word, or the words that begin so; None where they are many."""
    if len(word) < SHORTEST_PREFIX:
        return f'"{word}"'
    if len(word) in BEGINNINGS:
        return f'"{beginning_word(word)}"'
    known = view.known(word, most)
    if known is None:
        return None
    return one_of(known or [word])


def is_void(wanted: Wanted) -> bool:
    """Whether nothing can match: what is ready, or waits, is pending."""
    is_pending = wanted.ready_for is not None or wanted.waiting
    return is_pending and wanted.status not in (None, Status.PENDING)
