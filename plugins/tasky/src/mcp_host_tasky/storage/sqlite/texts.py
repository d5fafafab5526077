"""The text that a task is found by: its words and its status, its tags, and how its words begin.

Tags and beginnings are words of the index as well, each behind a sign that no word of a text has.
So the index itself finds what has words and tags, which is sooner done than to compare two lists
of tasks, and a beginning of three or four letters is one list, even where thousands of words begin
so. What people search for has mostly four letters, and such words begin others.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ...model import Task, Wanted
from ..sql import (
    BEGINNING_SIGN,
    STATUS_SIGN,
    TAG_SIGN,
    beginnings_of,
    indexed,
    needle,
    reworded,
    tag_word,
    whole,
)

_MARKED = TAG_SIGN + BEGINNING_SIGN + STATUS_SIGN


class Retold(NamedTuple):
    """A task's text after a change, and the words that it has no more and has from now on."""

    number: int
    text: str
    gone: Collection[str]
    new: Collection[str]


def text_of(task: Task) -> str:
    """Return the text that a task is found by."""
    return told(indexed(task).split(), task.tags)


def told(words: Sequence[str], tags: Iterable[str]) -> str:
    """Return the text of a task with these words, its status among them, and tags."""
    return " ".join([*words, *map(tag_word, tags), *_begun(words)])


def told_anew(text: str, tags: Iterable[str]) -> str:
    """Return a text of an earlier format as it is told now."""
    return told([word for word in text.split() if word[0] not in TAG_SIGN + BEGINNING_SIGN], tags)


def retold(old: Task, new: Task, text: str) -> Retold:
    """Return what becomes of a task's text. The index is told only of the words that differ."""
    if old.details == new.details:
        return _with_few_others(old, new, text)
    becomes = text_of(new)
    before, after = set(text.split()), set(becomes.split())
    return Retold(new.number, becomes, before - after, after - before)


def _with_few_others(old: Task, new: Task, text: str) -> Retold:
    """Return what becomes of a text, which can be long, where few of its words differ: these are
    looked for in it, and the others are not listed."""
    change = reworded(old, new)
    spaced = f" {text} "
    lost, given = set(old.tags) - set(new.tags), set(new.tags) - set(old.tags)
    gone = {one for one in (*change.gone, *map(tag_word, lost)) if f" {one} " in spaced}
    come = {one for one in (*change.new, *map(tag_word, given)) if f" {one} " not in spaced}
    spaced = _without(spaced, gone)
    begun = _begun(come)
    ended = {
        one
        for one in _begun(gone).keys() - begun.keys()
        if f" {one.removeprefix(BEGINNING_SIGN)}" not in spaced
    }
    come |= {one for one in begun if f" {one} " not in spaced}
    spaced = _without(spaced, ended)
    return Retold(new.number, " ".join([spaced[1:-1], *sorted(come)]).strip(), gone | ended, come)


def _without(spaced: str, words: Iterable[str]) -> str:
    """Return a text, between spaces, without these words, each of which stands in it once."""
    for word in words:
        spaced = spaced.replace(f" {word} ", " ", 1)
    return spaced


def plain(words: Iterable[str]) -> list[str]:
    """Return those words of the index that are of a task's name or details, sorted."""
    return sorted([word for word in words if word[0] not in _MARKED])


def beginning_word(beginning: str) -> str:
    """Return a beginning of three or four letters as a word that every text with a word has which
    begins so."""
    return BEGINNING_SIGN + beginning


def needles(wanted: Wanted) -> list[str]:
    """Return what stands in the text of a task with the words and tags."""
    return [*(whole(tag_word(tag)) for tag in wanted.tags), *map(needle, wanted.words)]


def _begun(words: Collection[str]) -> dict[str, None]:
    """Return the beginnings of a text's words, as words."""
    return dict.fromkeys(map(beginning_word, beginnings_of(words)))
