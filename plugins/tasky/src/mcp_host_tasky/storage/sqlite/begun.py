"""Which of the words that begin alike are frequent."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from ...model import Status
from ..sql import Drawn, needle

DRAWN = 300
"""So many texts tell which words are frequent: few enough to be read in some milliseconds."""
FEW_DRAWN = 3
"""Words that no more of these have stand in about one text of a hundred."""
OFTEN = 8
"""So many of the most frequent words stand for all that begin so: of more FTS5 unites the lists in
more time than it takes to meet what has others."""


class View(Protocol):
    """What this room needs of a view of the store."""

    def counted(self, status: Status | None) -> int: ...

    def drawn(self, count: int) -> Drawn: ...


class Begun:
    """What some texts tell of that, drawn from all over the plan: to count all that have each of
    thousands of words takes as long as to merge their lists."""

    def __init__(self, view: View) -> None:
        self._view = view

    @cached_property
    def drawn(self) -> Drawn:
        """The texts that were drawn."""
        return self._view.drawn(DRAWN)

    def most_frequent(self, word: str) -> tuple[str | None, int]:
        """Return what finds the most frequent words that begin so, and how many entries the lists
        of all have, about; None for words that few texts have."""
        having = self.drawn.having([needle(word)])
        met = Counter(one for text in having for one in text.split() if one.startswith(word))
        if met.total() <= FEW_DRAWN:
            return None, 0
        often = [one for one, _ in met.most_common(OFTEN)]
        return one_of(often), met.total() * self._view.counted(None) // len(self.drawn.texts)


def one_of(words: Sequence[str]) -> str:
    """Return the expression that finds what has one of these words."""
    spelt = " OR ".join(f'"{word}"' for word in words)
    return f"({spelt})"
