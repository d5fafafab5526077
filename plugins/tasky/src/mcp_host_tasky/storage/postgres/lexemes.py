"""What a task is found by in PostgreSQL's index of words: its words and their beginnings, its
status, its tags, and the month in which it was made.

So the index itself finds what has words, tags and a status, which is sooner done than to look at
each task that has one of them. A beginning of three or four letters stands there like a word, even
where thousands of words begin so. It needs no sign: a search for such a word is one for what begins
so, and finds the word itself as well.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ...model import Task, first_beginning, fold, written
from ..sql import (
    BEGINNINGS,
    STATUS_SIGN,
    TAG_SIGN,
    beginnings_of,
    indexed,
    reworded,
    tag_word,
)

LONGEST_WORD = 500
"""A longer word is cut, to fit into an index."""
MONTH_SIGN = "@"
"""What the lexeme of a month begins with."""
MARKED = STATUS_SIGN + TAG_SIGN + MONTH_SIGN
"""What begins all that is no word: of these words alone there are beginnings."""
MONTH = len("2026-11")
"""So long is the beginning of a time that says its month."""
_DECEMBER = 12


class Relexed(NamedTuple):
    """What a task is found by no more, and what it is found by from now on."""

    number: int
    gone: set[str]
    new: set[str]


def lexemes_of(task: Task) -> set[str]:
    """Return all that a task is found by."""
    words = _cut(indexed(task).split())
    return {*words, *beginnings_of(words), *_beside(task)}


def relexed(old: Task, new: Task) -> Relexed:
    """Compare what a task was found by with what it is found by."""
    change = reworded(old, new)
    if any(len(word) > LONGEST_WORD for word in change.gone):
        # Where one is cut that it loses, another may be cut to the same.
        before, after = lexemes_of(old), lexemes_of(new)
    else:
        come = {*_cut(change.new), *beginnings_of(change.new)}
        gone = _gone(change.gone, come, new)
        before, after = {*gone, *_beside(old)}, {*come, *_beside(new)}
    return Relexed(new.number, before - after, after - before)


def plain(lexemes: Iterable[str]) -> list[str]:
    """Return the words of a name or of details that are no beginning, sorted: of those alone it is
    asked which begin alike."""
    return sorted(one for one in lexemes if is_longer(one) and one[0] not in MARKED)


def is_longer(word: str) -> bool:
    """Whether a word is longer than the beginnings that tasks are found by."""
    return len(word) > BEGINNINGS[-1]


def month_lexeme(at: str) -> str:
    """Return the month of a time as what all tasks are found by that were made in it."""
    return MONTH_SIGN + at[:MONTH]


def months_lexemes(first: str, last: str, most: int) -> list[str]:
    """Return those of the months from one time to another; none where these are more than so
    many."""
    year, month = int(first[:4]), int(first[5:MONTH])
    found: list[str] = []
    while (one := f"{year:04}-{month:02}") <= last[:MONTH]:
        if len(found) == most:
            return []
        found.append(month_lexeme(one))
        year, month = (year, month + 1) if month < _DECEMBER else (year + 1, 1)
    return found


def _gone(words: Collection[str], come: Collection[str], new: Task) -> set[str]:
    """Return those of a task's former words, and of how they begin, that it is found by no more."""
    begun = beginnings_of(words).keys() - come
    text = fold(f"{new.name} {written(new.details)}") if begun else ""
    ended = {one for one in begun if first_beginning(text, one) < 0}
    return ended.union(word for word in words if len(word) not in BEGINNINGS)


def _cut(words: Iterable[str]) -> set[str]:
    return {word[:LONGEST_WORD] for word in words}


def _beside(task: Task) -> set[str]:
    """Return what a task is found by besides words and status."""
    return {month_lexeme(task.created_at), *map(tag_word, task.tags)}
