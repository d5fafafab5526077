"""Functions that are to be called later, most of which are cancelled before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

RESOLUTION = 0.001
"""Seconds by which a loop's timer may come too early."""
MANY = 128
"""Alarms that were cancelled and are kept, at the least, until they are sorted out."""


class Alarm:
    """A function that is called at a time of the loop's clock, unless it is cancelled.

    `call` is None once it was called or cancelled.
    """

    __slots__ = ("_alarms", "call")

    def __init__(self, alarms: Alarms, call: Callable[[], object]) -> None:
        self._alarms = alarms
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        """Have it not called; nothing where it has been."""
        if self.call is not None:
            self.call = None
            self._alarms.cancelled += 1


class Alarms:
    """Many alarms that share one timer of the loop; all methods belong to that loop.

    A timer for each would cost a call more than all else that limits it. `_heap` has all that are
    to be called, each with its time and a number that no other has, and some that were `cancelled`
    and are not sorted out yet: so many of them. `_timer` comes at `_next`, not after the first.
    """

    def __init__(self) -> None:
        self.cancelled = 0
        self._heap: list[tuple[float, int, Alarm]] = []
        self._number = count()
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that they belong to: the one that runs when they are first used."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def call_later(self, seconds: float, call: Callable[[], object]) -> Alarm:
        """Have a function called in so many seconds."""
        at = (self._loop or self.loop).time() + seconds
        alarm = Alarm(self, call)
        heappush(self._heap, (at, next(self._number), alarm))
        if self.cancelled > MANY and 2 * self.cancelled > len(self._heap):
            self._sort_out()
        if at < self._next:
            self._wait_until(at)
        return alarm

    def limit(self, seconds: float, late: Callable[[], object] | None = None) -> TimeLimit:
        """Make a block that its task is thrown out of after so many seconds.

        With `late`, that is called then instead, and `expire` and `restart` are for whoever gave
        it.
        """
        return TimeLimit(self, seconds, late)

    def _sort_out(self) -> None:
        """Keep none that was cancelled."""
        self._heap = sorted(one for one in self._heap if one[2].call is not None)
        self.cancelled = 0

    def _wait_until(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = self.loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer, self._next = None, inf
        for alarm in self._due(self.loop.time() + RESOLUTION):
            call, alarm.call = alarm.call, None
            if call is not None:
                call()
            else:  # one that was called has cancelled it, and it is in the heap no more
                self.cancelled -= 1
        self._due(-inf)
        if self._heap:
            self._wait_until(self._heap[0][0])

    def _due(self, now: float) -> list[Alarm]:
        """Take out what is to be called now, and what comes first and is cancelled."""
        due = []
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].call is None):
            alarm = heappop(self._heap)[2]
            if alarm.call is None:
                self.cancelled -= 1
            else:
                due.append(alarm)
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
        task = asyncio.current_task(self._alarms.loop)
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
