"""The way of a call through the middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from .call import Call, Middleware, Next, Result


class Chain:
    """Passes a call through every middleware, the first outermost, and to the end."""

    def __init__(self, middleware: Sequence[Middleware], end: Next) -> None:
        self._following = end
        for one in reversed(middleware):
            self._following = _Step(one, self._following)

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._following(call)


class _Step:
    """One middleware, and what follows it."""

    def __init__(self, middleware: Middleware, following: Next) -> None:
        self._middleware = middleware
        self._following = following

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._middleware(call, self._following)
