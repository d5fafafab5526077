"""So many calls at once, in the host and in each pack; some more wait, others hear `busy`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from ..calls import Call, Next, Wire
from ..errors import Busy
from ..settings import PackTable

QUEUE_FACTOR = 4


class Slots:
    """The host's slots and each pack's; a call takes its pack's first."""

    def __init__(self, packs: Mapping[str, PackTable], limit: int) -> None:
        self._host = Gate(limit, "The host")
        self._packs = {
            name: Gate(table.max_concurrency, f"The pack '{name}'") for name, table in packs.items()
        }

    async def __call__(self, call: Call, following: Next) -> Wire:
        assert call.entry is not None
        gate = self._packs.get(call.entry.pack)
        if gate is None:
            return await following(call)
        await gate.enter()
        try:
            await self._host.enter()
            try:
                return await following(call)
            finally:
                self._host.leave()
        finally:
            gate.leave()


class Gate:
    """Lets `limit` in; up to four times as many wait in line."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit, self._name = limit, name
        self._inside = 0
        self._line: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        if self._inside < self._limit:
            self._inside += 1
            return
        if len(self._line) >= QUEUE_FACTOR * self._limit:
            raise Busy(
                f"{self._name} is busy: {self._limit} calls run and {len(self._line)} wait",
                details={"reason": "too_many_calls"},
            )
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the place came in the moment of the cancellation: pass it on
            elif turn in self._line:
                self._line.remove(turn)
            raise

    def leave(self) -> None:
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)  # the place goes on to the next in line
                return
        self._inside -= 1
