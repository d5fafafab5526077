"""The words that tasks are found by."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from ...model import SHORTEST_PREFIX, Status, Task, fold, words_of, written

STATUS_SIGN = "·"
"""What the word of a status begins with: neither letter nor digit, so no word of a text does."""
TAG_SIGN = "§"
"""What the word of a tag begins with."""
BEGINNING_SIGN = "¬"
"""What a beginning begins with where it is told from a word."""
BEGINNINGS = (SHORTEST_PREFIX, SHORTEST_PREFIX + 1)
"""So many letters a beginning has that an index of words has too: what people search for has mostly
four letters, and thousands of words may begin so."""
_SEPARATING = re.compile(r"[\x00-/:-@\[-`{-\x7f·]")
"""What an index takes for the end of a word; and the sign that stands for these in a tag."""


def indexed(task: Task) -> str:
    """Return the words that a task is found by, as one folded text, and its status as another.

    The status is among the words because the two are often asked for together, and an index of
    words counts what has both without looking at tasks.
    """
    words = words_of(f"{task.name} {written(task.details)}")
    return " ".join([*words, status_word(task.status)])


class Reworded(NamedTuple):
    """The words that a task is found by no more, and those that it is found by from now on."""

    number: int
    gone: set[str]
    new: set[str]


def reworded(old: Task, new: Task) -> Reworded:
    """Compare the words of a task before and after: an index need not be told of the others."""
    gone: set[str] = set()
    come: set[str] = set()
    if old.name != new.name or old.details != new.details:
        gone, come = set(words_of(old.name)), set(words_of(new.name))
    if old.details == new.details:
        # Details can be long: what stands there is looked up, not listed.
        text = fold(written(new.details)) if gone != come else ""
        standing = {word for word in gone ^ come if _stands_in(text, word)}
        gone, come = gone - come - standing, come - gone - standing
    else:
        gone.update(words_of(written(old.details)))
        come.update(words_of(written(new.details)))
        gone, come = gone - come, come - gone
    if old.status is not new.status:
        gone.add(status_word(old.status))
        come.add(status_word(new.status))
    return Reworded(new.number, gone, come)


def _stands_in(text: str, word: str) -> bool:
    """Whether a folded text has the word, and not only as a part of others."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not text[max(0, at - 1) : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(word, at + 1)
    return False


def beginnings_of(words: Collection[str]) -> dict[str, None]:
    """Return how words begin, each beginning once; statuses and tags among them have none."""
    beginnings = dict.fromkeys([word[:size] for size in BEGINNINGS for word in words])
    shortest, signs = BEGINNINGS[0], STATUS_SIGN + TAG_SIGN
    return {one: None for one in beginnings if len(one) >= shortest and one[0] not in signs}


def beginning_of(word: str) -> str:
    """Return the longest beginning of a word that an index of words has too."""
    return word[: BEGINNINGS[-1]]


def status_word(status: Status) -> str:
    """Return the status as a word that no text has."""
    return STATUS_SIGN + status.value


@lru_cache(maxsize=10_000)
def tag_word(tag: str) -> str:
    """Return a tag as one word; another tag has another one."""
    return TAG_SIGN + _SEPARATING.sub(lambda sign: f"·{ord(sign.group()):02x}", tag)
