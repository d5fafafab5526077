"""A call that came while the pack that may give it a handle was being imported."""

from __future__ import annotations

import asyncio

from ...runtime.alarms import Alarm, Alarms
from ..call import Call, Next, Result
from .movable import MovableCall
from .moved import Handles, Keeper


class EarlyCall(MovableCall):
    """A call whose keeper may come while it runs.

    Its pack hears the deadline of a call that may be moved, by the usual limit: which one counts is
    not known yet, and it cannot be told another one.
    """

    def __init__(self, handles: Handles, call: Call, following: Next) -> None:
        super().__init__(handles, None, call, following)
        self._began = asyncio.get_running_loop().time()
        self._alarm: Alarm | None = None

    async def outcome_early(self) -> Result:
        """As `outcome`; `kept_by` may say meanwhile who gives it a handle."""
        try:
            return await self.outcome()
        finally:
            if self._alarm is not None:
                self._alarm.cancel()

    def kept_by(self, keeper: Keeper, alarms: Alarms, after: float | None) -> None:
        """Have its keeper give it a handle, so many seconds after it began or at its deadline."""
        self._keeper, self.limit = keeper, keeper.how.limit
        if after is not None:
            passed = asyncio.get_running_loop().time() - self._began
            self._alarm = alarms.call_later(max(0.0, after - passed), self._begin_to_move)
