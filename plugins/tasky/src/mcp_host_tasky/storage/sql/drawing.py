"""Tasks drawn by chance from all over a plan, and what they tell of all others.

What was written together is about the same things, so they come from everywhere.
"""

import math
import random
from functools import cache


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
