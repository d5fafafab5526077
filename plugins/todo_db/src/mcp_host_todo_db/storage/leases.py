"""The connections of a pool, handed from one call to the next without a way through the pool."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

KEPT = 1.0
"""Seconds after which a connection that no call has used goes back to the pool."""


class Leases:
    """Connections that were acquired from a pool and are kept for the calls that follow.

    The pool makes a task and two timers for each call, which cost as much as the statement. Here a
    call that is done hands its connection to the next in line, or lets it rest. What has rested for
    a while goes back to the pool, which closes it in time; so does what a call has broken.

    `acquire` and `release` are the pool's, of which `size` connections may be had; `is_open` says
    whether a connection has ended, as far as the event loop has read it, and `is_silent` that there
    is nothing to read. A call waits `patience` seconds in line.

    Invariants: `_held` counts the places that are taken, by connections that are used or rest and
    by calls that acquire one, `size` at the most. While a connection rests nobody waits in `_line`.
    Each there has the time of the loop until which it waits, and a future that is resolved with a
    connection, or with None for a place; `_late` looks after them at the time of the first.
    `_unused` of those that rest, the first ones, did so since the last look.
    """

    def __init__(
        self,
        acquire: Callable[[], Awaitable[Any]],
        release: Callable[[Any], Awaitable[None]],
        is_open: Callable[[Any], bool],
        is_silent: Callable[[Any], bool],
        size: int,
        patience: float,
    ) -> None:
        self._acquire = acquire
        self._release = release
        self._is_open = is_open
        self._is_silent = is_silent
        self._size = size
        self._patience = patience
        self._held = 0
        self._good: set[Any] = set()
        self._resting: deque[Any] = deque()
        self._unused = 0
        self._line: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._late: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._returning: set[asyncio.Task[None]] = set()

    @property
    def resting(self) -> int:
        """How many connections no call uses; in any thread."""
        return len(self._resting)

    @property
    def waiting(self) -> int:
        """How many calls wait for a connection; in any thread."""
        return sum(not turn.done() for _, turn in list(self._line))

    async def take(self) -> Any:
        """Get a connection. Raises `TimeoutError` after `patience`, and what `acquire` raises."""
        while True:
            if self._resting:
                connection = self._resting.pop()
                self._unused = min(self._unused, len(self._resting))
            elif self._held < self._size:
                self._held += 1
                connection = await self._acquired()
            elif (handed := await self._turn()) is not None:
                return handed
            else:
                connection = await self._acquired()
            if await self._is_there(connection):
                return connection

    def give(self, connection: Any) -> None:
        """Give back a connection whose call has ended well."""
        if connection not in self._good or not self._is_open(connection):
            self._return(connection)
        elif (turn := self._next_in_line()) is not None:
            turn.set_result(connection)
        else:
            self._resting.append(connection)
            if self._timer is None:
                self._look_later()

    async def give_up(self, connection: Any) -> None:
        """Let the pool have a connection that may be broken."""
        self._good.discard(connection)
        try:
            await self._release(connection)
        finally:
            self._leave_place()

    def expire(self) -> None:
        """Let the pool have every connection again, those that are used once their call ends."""
        self._good.clear()
        self._return_first(len(self._resting))

    async def close(self) -> None:
        """Let the pool have every connection that no call uses."""
        if self._timer is not None:
            self._timer.cancel()
        self.expire()
        if self._returning:
            await asyncio.wait(self._returning)

    async def _acquired(self) -> Any:
        """Acquire a connection for a place that was taken."""
        try:
            connection = await self._acquire()
        except BaseException:
            self._leave_place()
            raise
        self._good.add(connection)
        return connection

    async def _turn(self) -> Any:
        """Wait in line for a connection; None for a place."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Any] = loop.create_future()
        until = loop.time() + self._patience
        self._line.append((until, turn))
        if self._late is None:
            self._late = loop.call_at(until, self._end_waits)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:  # it came at the same moment
                if turn.result() is None:
                    self._leave_place()
                else:
                    self.give(turn.result())
            raise

    async def _is_there(self, connection: Any) -> bool:
        """Return whether a connection that rested has not ended meanwhile; else give it up."""
        if self._is_silent(connection):
            return True
        try:
            await asyncio.sleep(0)  # the end is read
            await asyncio.sleep(0)  # and told to the connection
        except asyncio.CancelledError:
            self._return(connection)
            raise
        if self._is_open(connection):
            return True
        await self.give_up(connection)
        return False

    def _next_in_line(self) -> asyncio.Future[Any] | None:
        while self._line:
            _, turn = self._line.popleft()
            if not turn.done():  # else whoever waited has given up
                return turn
        return None

    def _leave_place(self) -> None:
        turn = self._next_in_line()
        if turn is not None:
            turn.set_result(None)
        else:
            self._held -= 1

    def _return(self, connection: Any) -> None:
        task = asyncio.create_task(self.give_up(connection))
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)

    def _return_first(self, count: int) -> None:
        for _ in range(count):
            self._return(self._resting.popleft())
        self._unused = len(self._resting)

    def _look_later(self) -> None:
        self._unused = len(self._resting)
        self._timer = asyncio.get_running_loop().call_later(KEPT, self._look)

    def _look(self) -> None:
        self._timer = None
        self._return_first(self._unused)
        if self._resting:
            self._look_later()

    def _end_waits(self) -> None:
        """Tell those whose time in line is over; the first waits for longest."""
        self._late = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._line and self._line[0][0] <= now:
            _, turn = self._line.popleft()
            if not turn.done():
                turn.set_exception(TimeoutError())
        if self._line:
            self._late = loop.call_at(self._line[0][0], self._end_waits)
