"""Functions that are to be called later, most of which are cancelled before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any

RESOLUTION = 0.001
"""Seconds by which a loop's timer may come too early."""
MANY = 128
"""Alarms, mostly cancelled ones, that are kept until they are sorted out."""


class Alarm:
    """A function that is called at a time of the loop's clock, unless it is cancelled."""

    __slots__ = ("_waiting", "at", "call")

    def __init__(self, waiting: set[Alarm], at: float, call: Callable[[], object]) -> None:
        self._waiting = waiting
        self.at = at
        self.call = call
        waiting.add(self)

    def cancel(self) -> None:
        """Have it not called; nothing where it has been."""
        self._waiting.discard(self)
        self.call = _nothing  # it may stay for a while among those that are not sorted out

    def __lt__(self, other: Alarm) -> bool:
        return self.at < other.at


def _nothing() -> None:
    """Stand for what is not to be called any more."""


class Alarms:
    """Many alarms that share one timer of the loop; all methods belong to that loop.

    A timer for each would cost a call more than all else that limits it. `_heap` has all that are
    in `_waiting`, and some that are not any more; `_timer` comes at `_next`, not after the first.
    """

    def __init__(self) -> None:
        self._waiting: set[Alarm] = set()
        self._heap: list[Alarm] = []
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None

    def call_later(self, seconds: float, call: Callable[[], object]) -> Alarm:
        """Have a function called in so many seconds."""
        loop = asyncio.get_running_loop()
        alarm = Alarm(self._waiting, loop.time() + seconds, call)
        if len(self._heap) > MANY and len(self._heap) > 2 * len(self._waiting):
            self._heap = sorted(self._waiting)
        else:
            heappush(self._heap, alarm)
        if alarm.at < self._next:
            self._wait_until(alarm.at, loop)
        return alarm

    def limit(self, seconds: float, late: Callable[[], object] | None = None) -> TimeLimit:
        """Make a block that its task is thrown out of after so many seconds.

        With `late`, that is called then instead, and `expire` and `restart` are for whoever gave
        it.
        """
        return TimeLimit(self, seconds, late)

    def _wait_until(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = loop.call_at(at, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._next = None, inf
        for alarm in self._due(loop.time() + RESOLUTION):
            if alarm in self._waiting:  # else one that was called has cancelled it
                self._waiting.remove(alarm)
                alarm.call()
        self._due(-inf)
        if self._heap:
            self._wait_until(self._heap[0].at, loop)

    def _due(self, now: float) -> list[Alarm]:
        """Take out what is to be called now, and what comes first and is cancelled."""
        due = []
        while self._heap and (self._heap[0].at <= now or self._heap[0] not in self._waiting):
            due.append(heappop(self._heap))
        return due


class TimeLimit:
    """As `asyncio.timeout`: the block ends in `TimeoutError` once its seconds are over.

    `has_expired` says, after the block, that they were over within it. `_task` and `_alarm` are
    there while it runs.
    """

    def __init__(
        self, alarms: Alarms, seconds: float, late: Callable[[], object] | None = None
    ) -> None:
        self._alarms = alarms
        self._seconds = seconds
        self._late = late
        self._task: asyncio.Task[Any] | None = None
        self._alarm: Alarm | None = None
        self.has_expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # only a coroutine awaits in the block
        self._task = task
        self._cancelling = task.cancelling()
        self._alarm = self._alarms.call_later(self._seconds, self._late or self.expire)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        task, self._task = self._task, None
        alarm, self._alarm = self._alarm, None
        assert task is not None and alarm is not None  # the block was entered
        alarm.cancel()
        if (
            self.has_expired
            and task.uncancel() <= self._cancelling  # nobody else has cancelled it
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError

    def restart(self, seconds: float) -> None:
        """Let the block have so many seconds from now on; nothing where it is over."""
        if self._task is not None and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = self._alarms.call_later(seconds, self.expire)

    def hand_over(self, task: asyncio.Task[Any]) -> None:
        """Have this task be the one that runs the block; nothing where it is over."""
        if self._task is not None:
            self._task, self._cancelling = task, task.cancelling()

    def expire(self) -> None:
        """End the block; nothing where it is over."""
        if self._task is not None and not self.has_expired:
            self.has_expired = True
            self._task.cancel()
