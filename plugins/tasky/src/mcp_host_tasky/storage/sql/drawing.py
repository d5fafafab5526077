"""Tasks drawn by chance from all over a plan, and what they tell of all others.

What was written together is about the same things, so they come from everywhere.
"""

import math
import random
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from ...model import Status
from .needles import has_all

_CHANGED = 100
"""Texts are drawn anew once one task in so many may have changed."""


class View(Protocol):
    """What this room needs of a view of an SQL store."""

    def counted(self, status: Status | None) -> int: ...

    def last_number(self) -> int: ...

    def last_event(self) -> int: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...


class Drawn(NamedTuple):
    """Texts that were drawn, each between spaces, and the plan's last event then."""

    texts: list[str]
    at_event: int
    missed: int = 0
    """At most so many tasks changed since, or are new."""

    def having(self, needles: Sequence[str]) -> list[str]:
        """Return the texts that have all of them."""
        return [text for text in self.texts if has_all(text, needles)]

    def and_more(self, others: "Drawn") -> "Drawn":
        """Return these and others that were drawn as well."""
        return Drawn(self.texts + others.texts, self.at_event, max(self.missed, others.missed))

    def are_surely_more(self, hits: int, than: int, among: int) -> bool:
        """Whether more than so many tasks, among all of a plan, are like so many of these."""
        return are_surely_more(hits, len(self.texts), than + self.missed, among)


class Drawings:
    """What was drawn from a plan, as a store remembers it for its views: to read a thousand texts
    takes longer than what most searches do then."""

    def __init__(self) -> None:
        self._kept: dict[int, Drawn] = {}

    def of(self, view: View, count: int) -> Drawn:
        """Return about so many texts from all over the plan, of now or of some changes ago."""
        event = view.last_event()
        kept = self._kept.get(count)
        if kept and 0 <= event - kept.at_event <= view.counted(None) // _CHANGED:
            return kept._replace(missed=event - kept.at_event)
        found = view.texts(drawn(view.last_number(), count))
        made = Drawn([f" {text} " for text in found.values()], event)
        self._kept[count] = made
        return made


def drawn(last_number: int, count: int) -> set[int]:
    """Return the numbers of about so many tasks, up to the last; some of these may be gone."""
    return {1 + int(place * last_number) for place in _places(count)}


@cache
def _places(count: int) -> list[float]:
    """Return so many places between 0 and 1, one drawn by chance from each of as many parts. They
    are always the same, so that what stands there is soon found again."""
    chance = random.Random(count)  # noqa: S311  nothing is to be kept secret
    return [(part + chance.random()) / count for part in range(count)]


def are_surely_more(hits: int, looked_at: int, than: int, among: int) -> bool:
    """Whether more than so many tasks, among all of a plan, are like those hit among the drawn ones
    that were looked at: if only so many were, chance would draw more once in a million searches."""
    usual = looked_at * than / max(1, among)
    return hits > usual + 5 * math.sqrt(usual) + 3
