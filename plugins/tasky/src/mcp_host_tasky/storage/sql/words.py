"""The words that tasks are found by."""

from collections.abc import Collection

from ...model import Status, Task, words_of, written

SHORTEST_PREFIX = 3
"""A shorter word matches only itself: too much begins with one or two letters."""


def says(text: str, words: Collection[str]) -> bool:
    """Whether an indexed text has all the words: short ones whole, others as beginnings."""
    spaced = f" {text} "
    return all(
        (f" {word}" if len(word) >= SHORTEST_PREFIX else f" {word} ") in spaced for word in words
    )


def indexed(task: Task) -> str:
    """Return the words that a task is found by, as one folded text, and its status as another.

    The status is among the words because the two are often asked for together, and an index of
    words counts what has both without looking at tasks.
    """
    words = words_of(f"{task.name} {written(task.details)}")
    return " ".join([*words, status_word(task.status)])


def status_word(status: Status) -> str:
    """Return the status as a word that no text has: the dot is neither letter nor digit."""
    return f"·{status.value}"
