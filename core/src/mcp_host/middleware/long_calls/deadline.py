"""The time of a call that can be moved behind a handle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


class MovableDeadline:
    """A tool's own time until its call has moved; from then on what a call has behind its handle.

    Invariants: `_scope` is there while the call's clock runs, and `_timer` is what ends it next;
    `_ends_at` is set when the call moves.
    """

    def __init__(self, limit: float, move: Callable[[], Awaitable[bool]]) -> None:
        self._limit = limit
        self._move = move
        self._ends_at: float | None = None
        self._scope: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None

    def clock(self, scope: asyncio.Timeout, seconds: float) -> Callable[[], None]:
        """As `Movable.clock`."""
        self._scope = scope
        loop = asyncio.get_running_loop()
        if self._ends_at is None:
            self._timer = loop.call_later(seconds, self._late, scope)
        else:
            self._restart(scope, self._ends_at)
        return self._stop

    def extend(self) -> None:
        """Give the call the time that it has behind its handle."""
        self._ends_at = asyncio.get_running_loop().time() + self._limit
        if self._scope is not None:
            self._restart(self._scope, self._ends_at)

    def _stop(self) -> None:
        self._scope = None
        if self._timer is not None:
            self._timer.cancel()

    def _restart(self, scope: asyncio.Timeout, ends_at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(ends_at, _expire, scope)

    def _late(self, scope: asyncio.Timeout) -> None:
        task = asyncio.ensure_future(self._move())
        task.add_done_callback(lambda moved: None if moved.result() else _expire(scope))


def _expire(scope: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # the call has ended
        scope.reschedule(asyncio.get_running_loop().time())
