"""What every call passes, one file each, and the fold that composes them.

The order is the order of the list in `host.py`: request id, log, answer, policy, validation,
opening, questions, deadline, slots, and then the pack's function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..calls import Call, Middleware, Next, Wire


def fold(middleware: Sequence[Middleware], end: Next) -> Next:
    """One function that passes a call through all of them, the first outermost."""

    def wrap(following: Next, this: Middleware) -> Next:
        async def passing(call: Call) -> Wire:
            return await this(call, following)

        return passing

    return reduce(wrap, reversed(middleware), end)
