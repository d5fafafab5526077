"""Which of the words that begin alike are frequent."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from ...model import Status
from ..sql import Drawing, Drawn, needle

DRAWN = 300
"""So many texts tell which words are frequent: few enough to be read in some milliseconds."""
FEW_DRAWN = 3
"""Words that no more of so many have stand in about one text of a hundred."""
OFTEN = 8
"""So many of the most frequent words stand for all that begin so: of more FTS5 unites the lists in
more time than it takes to meet what has others."""


class View(Drawing, Protocol):
    """What this room needs of a view of the store."""

    def counted(self, status: Status | None) -> int: ...


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
        often, met = self.drawn.most_frequent(needle(word), OFTEN)
        if met * DRAWN <= FEW_DRAWN * self.drawn.size:
            return None, 0
        return one_of(often), met * self._view.counted(None) // self.drawn.size


def one_of(words: Sequence[str]) -> str:
    """Return the expression that finds what has one of these words."""
    spelt = " OR ".join(f'"{word}"' for word in words)
    return f"({spelt})"
