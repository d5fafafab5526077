"""What is looked for in the text of a task: its words, tags and so on, each between spaces."""

from collections.abc import Collection, Sequence

from ...model import SHORTEST_PREFIX


def needle(word: str) -> str:
    """Return what stands in a text with a word, or with one that begins so: with one or two letters
    too many begin, so these are words of their own."""
    return f" {word}" if len(word) >= SHORTEST_PREFIX else whole(word)


def whole(word: str) -> str:
    """Return what stands in a text with this very word, which may be that of a tag or a status."""
    return f" {word} "


def says(text: str, words: Collection[str]) -> bool:
    """Whether a text has all the words: short ones whole, others as beginnings."""
    return fits(text, [needle(word) for word in words])


def fits(text: str, needles: Sequence[str]) -> bool:
    """Whether a text has all that is looked for."""
    spaced = f" {text} "
    for one in needles:  # noqa: SIM110  runs for thousands of texts, where all() takes longer
        if one not in spaced:
            return False
    return True
