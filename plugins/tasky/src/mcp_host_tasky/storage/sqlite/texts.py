"""The text that a task is found by: its words and its status, its tags, and how its words begin.

Tags and beginnings are words of the index as well, each behind a sign that no word of a text has.
So the index itself finds what has words and tags, which is sooner done than to compare two lists
of tasks, and a beginning of three letters is one list, even where thousands of words begin so.

The words of the details stand first, then a bar, then those of the name and all else: so a task
whose name, status or tags change, as most changes are, gets its text without its details, which can
be long, being cut into words. Texts of earlier plans have no bar until their task is changed.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...model import Task, Wanted, words_of, written
from ..sql import SHORTEST_PREFIX, STATUS_SIGN, status_word

_TAG = "§"
_BEGINNING = "¬"
_BAR = "|"
_MARKED = _TAG + _BEGINNING + STATUS_SIGN + _BAR
_SEPARATING = re.compile(r"[\x00-/:-@\[-`{-\x7f·]")
"""What the index takes for the end of a word; and the sign that stands for these in a tag."""


class Retold(NamedTuple):
    """A task's text after a change, and the words that it has no more and has from now on."""

    number: int
    text: str
    gone: Collection[str]
    new: Collection[str]


def text_of(task: Task) -> str:
    """Return the text that a task is found by."""
    detailed, named = words_of(written(task.details)), words_of(task.name)
    return " ".join([*detailed, _BAR, *_named(named, task), *_begun([*detailed, *named])])


def told(words: Sequence[str], tags: Iterable[str]) -> str:
    """Return the text of a task with these words, its status among them, and tags."""
    return " ".join([*words, *map(tag_word, tags), *_begun(words)])


def retold(old: Task, new: Task, text: str) -> Retold:
    """Return what becomes of a task's text. The index is told only of the words that differ."""
    if old.details == new.details and _BAR in text:
        return _with_its_details(old, new, text)
    becomes = text_of(new)
    before, after = _told_of(text), _told_of(becomes)
    return Retold(new.number, becomes, before - after, after - before)


def _with_its_details(old: Task, new: Task, text: str) -> Retold:
    """Return what becomes of a text where the words of the details, before the bar, are the same:
    words are looked for there, and none is listed."""
    details, _, rest = text.partition(_BAR)
    _, sign, begun = rest.partition(f" {_BEGINNING}")
    details, begun = f" {details} ", f"{sign}{begun} "
    named = words_of(new.name)
    had, has = {*_named(words_of(old.name), old)}, {*_named(named, new)}
    gone = {word for word in had - has if f" {word} " not in details}
    come = {word for word in has - had if f" {word} " not in details}
    begin = _begun(named)
    ended = {
        one
        for one in _begun(gone).keys() - begin.keys()
        if f" {one.removeprefix(_BEGINNING)}" not in details
    }
    for one in ended:
        begun = begun.replace(f" {one} ", " ", 1)
    begins = {one for one in begin if f" {one} " not in begun}
    becomes = f"{details.strip()} {_BAR} {' '.join(_named(named, new))}{begun}"
    becomes = " ".join([becomes.strip(), *sorted(begins)])
    return Retold(new.number, becomes, gone | ended, come | begins)


def _named(words: Iterable[str], task: Task) -> list[str]:
    """Return what a text has behind its bar, but for beginnings: the name's words, status, tags."""
    return [*words, status_word(task.status), *map(tag_word, task.tags)]


def _told_of(text: str) -> set[str]:
    """Return the words of a text that the index knows."""
    return {*text.split()} - {_BAR}


def plain(words: Iterable[str]) -> list[str]:
    """Return those words of the index that are of a task's name or details, sorted."""
    return sorted([word for word in words if word[0] not in _MARKED])


@lru_cache(maxsize=10_000)
def tag_word(tag: str) -> str:
    """Return a tag as one word; another tag has another one."""
    return _TAG + _SEPARATING.sub(lambda sign: f"·{ord(sign.group()):02x}", tag)


def beginning_word(beginning: str) -> str:
    """Return a beginning of three letters as a word, which every text with such a word has."""
    return _BEGINNING + beginning


def needles(wanted: Wanted) -> list[str]:
    """Return what stands in the text of a task with the words and tags, between spaces."""
    whole = [tag_word(tag) for tag in wanted.tags]
    whole += [word for word in wanted.words if len(word) < SHORTEST_PREFIX]
    begun = [word for word in wanted.words if len(word) >= SHORTEST_PREFIX]
    return [f" {word} " for word in whole] + [f" {word}" for word in begun]


def fits(text: str, needles: Iterable[str]) -> bool:
    """Whether a text has all of them."""
    spaced = f" {text} "
    for needle in needles:  # noqa: SIM110  runs for thousands of texts, where all() takes longer
        if needle not in spaced:
            return False
    return True


def _begun(words: Iterable[str]) -> dict[str, None]:
    """Return the beginnings of a text's words, as words; its status and its tags have none."""
    beginnings = dict.fromkeys([word[:SHORTEST_PREFIX] for word in words])
    return {
        beginning_word(one): None
        for one in beginnings
        if len(one) == SHORTEST_PREFIX and one[0] not in _MARKED
    }
