"""The time of a call that can be moved behind a handle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ...runtime.alarms import Alarms, TimeLimit


class MovableDeadline:
    """A tool's own time until its call has moved; from then on what a call has behind its handle.

    `_scope` is the last block that was made, and `_ends_at` is set when the call moves.
    """

    def __init__(self, limit: float, move: Callable[[], Awaitable[bool]]) -> None:
        self._limit = limit
        self._move = move
        self._ends_at: float | None = None
        self._scope: TimeLimit | None = None

    def limited(self, alarms: Alarms, seconds: float) -> TimeLimit:
        """As `Movable.limited`."""
        if self._ends_at is None:
            self._scope = alarms.limit(seconds, self._late)
        else:
            left = self._ends_at - asyncio.get_running_loop().time()
            self._scope = alarms.limit(max(0.0, left))
        return self._scope

    def extend(self) -> None:
        """Give the call the time that it has behind its handle."""
        self._ends_at = asyncio.get_running_loop().time() + self._limit
        if self._scope is not None:
            self._scope.restart(self._limit)

    def _late(self) -> None:
        scope = self._scope
        assert scope is not None  # it is late
        task = asyncio.ensure_future(self._move())
        task.add_done_callback(lambda moved: None if moved.result() else scope.expire())
