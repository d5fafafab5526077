"""The way of a call through the middleware.

A middleware that is an object may have a method `concerns(call)`: where that says no, the call goes
straight to what follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from .call import Call, Middleware, Next, Result


class Chain:
    """Passes a call through every middleware, the first outermost, and to the end."""

    def __init__(self, middleware: Sequence[Middleware], end: Next) -> None:
        self._following = end
        for one in reversed(middleware):
            concerns = getattr(one, "concerns", None)
            step = _Step(one, self._following)
            self._following = step if concerns is None else _Detour(concerns, step, self._following)

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._following(call)


class _Step:
    """One middleware, and what follows it."""

    def __init__(self, middleware: Middleware, following: Next) -> None:
        self._middleware = middleware
        self._following = following

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._middleware(call, self._following)


class _Detour:
    """A step that only the calls go which it concerns."""

    def __init__(self, concerns: Callable[[Call], bool], step: Next, following: Next) -> None:
        self._concerns = concerns
        self._step = step
        self._following = following

    def __call__(self, call: Call) -> Awaitable[Result]:
        return self._step(call) if self._concerns(call) else self._following(call)
