"""The way of a call through the middleware.

A middleware that is an object may have a method `concerns(call)`: where that says no, the call goes
straight to what follows. One whose attribute `is_used` is false when the chain is made is not in
it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import partial

from .call import Call, Middleware, Next, Result


class Chain:
    """Passes a call through every middleware, the first outermost, and to the end."""

    def __init__(self, middleware: Sequence[Middleware], end: Next) -> None:
        following = end
        for one in reversed([one for one in middleware if getattr(one, "is_used", True)]):
            following = _through(one, following)
        self._following = following

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._following(call)


def _through(middleware: Middleware, following: Next) -> Next:
    """One middleware and what follows it, as one step; a call that it does not concern skips it."""
    concerns = getattr(middleware, "concerns", None)
    if concerns is None:
        return partial(middleware, following=following)  # type: ignore[call-arg]  # each names it so
    return lambda call: middleware(call, following) if concerns(call) else following(call)
