"""Functions that are to be called at some time, most of which are taken back before it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

RESOLUTION = 0.001
"""Seconds by which a loop's timer may come too early."""


class Alarm:
    """A function that is called at a time of the loop's clock, unless it is taken back."""

    __slots__ = ("at", "call")

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call


class Alarms:
    """Many alarms that share one timer of the loop; all methods belong to that loop.

    A timer for each would cost a call more than all else that limits it. `_timer` comes at `_next`,
    not after the first of `_waiting`; that one may have been taken back meanwhile.
    """

    def __init__(self) -> None:
        self._waiting: set[Alarm] = set()
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float, call: Callable[[], None]) -> Alarm:
        """Have a function called in so many seconds."""
        loop = asyncio.get_running_loop()
        alarm = Alarm(loop.time() + seconds, call)
        self._waiting.add(alarm)
        if alarm.at < self._next:
            self._wait_until(alarm.at, loop)
        return alarm

    def take_back(self, alarm: Alarm) -> None:
        """Have it not called; nothing where it has been."""
        self._waiting.discard(alarm)

    def limit(self, seconds: float) -> TimeLimit:
        """Make a block that its task is thrown out of after so many seconds."""
        return TimeLimit(self, seconds)

    def _wait_until(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = loop.call_at(at, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._next = None, inf
        now = loop.time() + RESOLUTION
        for alarm in sorted(self._waiting, key=lambda alarm: alarm.at):
            if alarm.at > now:
                self._wait_until(alarm.at, loop)
                break
            if alarm in self._waiting:  # else one that was called took it back
                self._waiting.remove(alarm)
                alarm.call()


class TimeLimit:
    """As `asyncio.timeout`: the block ends in `TimeoutError` once its seconds are over.

    `has_expired` says, after the block, that they were over within it.
    """

    def __init__(self, alarms: Alarms, seconds: float) -> None:
        self._alarms = alarms
        self._seconds = seconds
        self.has_expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # only a coroutine awaits in the block
        self._task = task
        self._cancelling = task.cancelling()
        self._alarm = self._alarms.set(self._seconds, self._expire)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._alarms.take_back(self._alarm)
        if (
            self.has_expired
            and self._task.uncancel() <= self._cancelling  # nobody else has cancelled it
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError

    def _expire(self) -> None:
        self.has_expired = True
        self._task.cancel()
