"""What a call behind its handle does, told to who keeps the handle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from ...declarations.context import Level

PAUSE = 0.25
"""Seconds in which progress and log of a call are gathered before they are told."""
LINES = 20
"""The most lines of a call's log that are told at once; of more, the oldest are dropped."""
Event: TypeAlias = dict[str, Any]


class News:
    """Gathers what a call does, and tells it in its order; `tell` passes events on.

    Invariants: `_has_any` is set while there is something to tell, `_is_urgent` while that is an
    event, which waits for nothing. After `end` there is no further event.
    """

    def __init__(self, tell: Callable[[list[Event]], Awaitable[None]]) -> None:
        self._tell = tell
        self._progress: Event | None = None
        self._lines: list[Event] = []
        self._events: list[Event] = []
        self._has_ended = False
        self._has_any = asyncio.Event()
        self._is_urgent = asyncio.Event()

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Note how far the call is; the last word counts."""
        told = {"done": done, "total": total, "message": message}
        self._progress = {name: value for name, value in told.items() if value is not None}
        self._has_any.set()

    def log(self, level: Level, data: Any) -> None:
        """Note a line of the call's log."""
        self._lines = [*self._lines[1 - LINES :], {"log": {"level": level, "data": data}}]
        self._has_any.set()

    def say(self, event: Event) -> None:
        """Note an event, which is told at once."""
        self._events.append(event)
        self._has_any.set()
        self._is_urgent.set()

    def end(self, event: Event) -> None:
        """Note the last event."""
        self._has_ended = True
        self.say(event)

    async def run(self) -> None:
        """Tell what is noted, until the end is told."""
        is_last = False
        while not is_last:
            await self._has_any.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_urgent.wait(), PAUSE)
            is_last = self._has_ended
            progress = [{"progress": self._progress}] if self._progress is not None else []
            events = [*self._lines, *progress, *self._events]
            self._lines, self._progress, self._events = [], None, []
            self._has_any.clear()
            self._is_urgent.clear()
            await self._tell(events)
