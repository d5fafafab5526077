"""Tasks drawn by chance from all over a plan, and what they tell of all others.

What was written together is about the same things, so they come from everywhere.
"""

import math
import random
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from ...model import Status

_CHANGED = 100
"""Texts are drawn anew once one task in so many may have changed."""
_MOST_PARTS = 6
_FEW_HITS = 10
"""Where fewer of the texts have what is wanted, more are drawn for the searches to come."""
_LAST = "\U0010ffff"


class View(Protocol):
    """What this room needs of a view of an SQL store."""

    def counted(self, status: Status | None) -> int: ...

    def last_number(self) -> int: ...

    def last_event(self) -> int: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...


class Part:
    """An index of some texts: which of them have each word, or one that begins so.

    Invariants: `_words` are in order; the texts with the word at a place of it are those from
    `_starts` at that place on, up to the next.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        having: dict[str, list[int]] = {}
        self.size = 0
        for text in texts:
            for word in set(text.split()):
                having.setdefault(word, []).append(self.size)
            self.size += 1
        self._words = sorted(having)
        self._starts = array("I", [0])
        self._texts = array("H")
        for word in self._words:
            self._texts.extend(having[word])
            self._starts.append(len(self._texts))

    def having(self, needle: str) -> set[int]:
        """Return which texts have what is looked for."""
        first, last = self._range(needle)
        return set(self._texts[self._starts[first] : self._starts[last]])

    def beginning(self, needle: str) -> dict[str, int]:
        """Return the words that begin so, each with how many texts have it."""
        first, last = self._range(needle)
        starts = self._starts
        return {self._words[at]: starts[at + 1] - starts[at] for at in range(first, last)}

    def _range(self, needle: str) -> tuple[int, int]:
        word = needle.strip(" ")
        first = bisect_left(self._words, word)
        if needle.endswith(" "):
            return first, bisect_right(self._words, word, first)
        return first, bisect_left(self._words, word + _LAST, first)


class Drawn(NamedTuple):
    """Texts that were drawn, and the plan's last event then. Needles are those of `needles`."""

    parts: tuple[Part, ...]
    at_event: int
    missed: int = 0
    """At most so many tasks changed since, or are new."""

    @property
    def size(self) -> int:
        """How many texts were drawn."""
        return sum(part.size for part in self.parts)

    def hits(self, needles: Sequence[str], one_of: Sequence[str] = ()) -> int:
        """Return how many have all the needles, and one of the others if there are any."""
        return sum(self._hits(part, needles, one_of) for part in self.parts)

    def most_frequent(self, needle: str, most: int) -> tuple[list[str], int]:
        """Return the most frequent words that begin so, and how often such words were met."""
        met: Counter[str] = Counter()
        for part in self.parts:
            met.update(part.beginning(needle))
        return [word for word, _ in met.most_common(most)], met.total()

    def are_surely_more(self, hits: int, than: int, among: int) -> bool:
        """Whether more than so many tasks, among all of a plan, are like so many of these: if only
        so many were, chance would draw more once in a million searches."""
        usual = self.size * (than + self.missed) / max(1, among)
        return hits > usual + 5 * math.sqrt(usual) + 3

    @staticmethod
    def _hits(part: Part, needles: Sequence[str], one_of: Sequence[str]) -> int:
        found = [part.having(needle) for needle in needles]
        if one_of:
            found.append(set().union(*(part.having(needle) for needle in one_of)))
        return len(set.intersection(*found)) if found else part.size


class Drawings:
    """What was drawn from a plan, as a store remembers it for its views: to read a thousand texts
    takes longer than what most searches do then."""

    def __init__(self) -> None:
        self._kept: dict[int, Drawn] = {}

    def of(self, view: View, count: int, *, more: bool) -> Drawn:
        """Return texts from all over the plan, of now or of some changes ago: about so many, or as
        many as were drawn for others; with `more`, so many more, up to six times as many."""
        event = view.last_event()
        kept = self._kept.get(count)
        if kept and not 0 <= event - kept.at_event <= view.counted(None) // _CHANGED:
            kept = None
        parts = kept.parts if kept else ()
        if not parts or (more and len(parts) < _MOST_PARTS):
            numbers = drawn(view.last_number(), count, len(parts))
            parts += (Part(view.texts(numbers).values()),)
        made = Drawn(parts, kept.at_event if kept else event)
        self._kept[count] = made
        return made._replace(missed=event - made.at_event)


class Drawing(Protocol):
    """What this room needs of a view that draws texts."""

    def drawn(self, count: int, *, more: bool = False) -> Drawn: ...


def drawn_for(
    view: Drawing, count: int, needles: Sequence[str], one_of: Sequence[str] = ()
) -> Drawn:
    """Return texts from all over the plan, and more of them where few have what is looked for."""
    texts = view.drawn(count)
    is_enough = texts.hits(needles, one_of) >= _FEW_HITS
    return texts if is_enough else view.drawn(count, more=True)


def drawn(last_number: int, count: int, part: int = 0) -> set[int]:
    """Return the numbers of about so many tasks, up to the last; some of these may be gone. Other
    parts are of others, mostly."""
    return {1 + int(place * last_number) for place in _places(count, part)}


@cache
def _places(count: int, part: int) -> list[float]:
    """Return so many places between 0 and 1, one drawn by chance from each of as many pieces. They
    are always the same, so that what stands there is soon found again."""
    chance = random.Random(f"{count} {part}")  # noqa: S311  nothing is to be kept secret
    return [(piece + chance.random()) / count for piece in range(count)]
