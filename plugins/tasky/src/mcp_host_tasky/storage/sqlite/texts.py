"""The text that a task is found by: its words and its status, its tags, and how its words begin.

Tags and beginnings are words of the index as well, each behind a sign that no word of a text has.
So the index itself finds what has words and tags, which is sooner done than to compare two lists
of tasks, and a beginning of three letters is one list, even where thousands of words begin so.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ...model import Task, Wanted
from ..sql import SHORTEST_PREFIX, indexed, is_status, reworded

_TAG = "§"
_BEGINNING = "¬"
_SIGNS = (_TAG, _BEGINNING)
_SEPARATING = re.compile(r"[\x00-/:-@\[-`{-\x7f·]")
"""What the index takes for the end of a word; and the sign that stands for these in a tag."""


class Retold(NamedTuple):
    """A task's text after a change, and the words that it has no more and has from now on."""

    number: int
    text: str
    gone: list[str]
    new: list[str]


def text_of(task: Task) -> str:
    """Return the text that a task is found by."""
    return told(indexed(task).split(), task.tags)


def told(words: Iterable[str], tags: Iterable[str]) -> str:
    """Return the text of a task with these words, its status among them, and tags."""
    words = list(words)
    return " ".join([*words, *map(tag_word, tags), *_beginnings(words)])


def retold(old: Task, new: Task, text: str) -> Retold:
    """Return what becomes of a task's text. The index is told only of the words that differ."""
    change = reworded(old, new)
    had = text.split()
    words = [word for word in had if word not in change.gone and not word.startswith(_SIGNS)]
    words += sorted(change.new)
    becomes = told(words, new.tags)
    before, after = set(had), set(becomes.split())
    return Retold(new.number, becomes, sorted(before - after), sorted(after - before))


def is_plain(word: str) -> bool:
    """Whether a word of the index is one of a task's name or details."""
    return not is_status(word) and not word.startswith(_SIGNS)


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


def _beginnings(words: Iterable[str]) -> list[str]:
    found = (word[:SHORTEST_PREFIX] for word in words if len(word) >= SHORTEST_PREFIX)
    return [beginning_word(one) for one in dict.fromkeys(found) if not is_status(one)]
