"""A call is answered by its deadline, whatever its pack does; the clock starts here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from ..calls import Call, Next, Wire
from ..contributions import Tool
from ..errors import TimedOut
from ..settings import PackTable


class Deadline:
    """The first that is set counts: the tool's setting, the pack's, the tool's own, `default`."""

    def __init__(self, packs: Mapping[str, PackTable], default: float) -> None:
        self._packs, self._default = packs, default

    async def __call__(self, call: Call, following: Next) -> Wire:
        limit = self._limit(call)
        context = call.context
        context.deadline = time.monotonic() + limit
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await following(call)
        except TimeoutError:
            if not scope.expired():  # the pack's own TimeoutError, which is not ours to explain
                raise
            raise _timed_out(call, limit) from None
        except asyncio.CancelledError:
            context.take_back()
            raise

    def _limit(self, call: Call) -> float:
        assert call.entry is not None
        table = self._packs.get(call.entry.pack)
        contribution = call.entry.contribution
        if table is not None and contribution.name in table.tools:
            of_tool = table.tools[contribution.name].timeout
            if of_tool is not None:
                return of_tool
        if table is not None and table.timeout is not None:
            return table.timeout
        if isinstance(contribution, Tool) and contribution.timeout is not None:
            return contribution.timeout
        return self._default


def _timed_out(call: Call, limit: float) -> TimedOut:
    error = TimedOut(f"{call.name[:200]} took longer than {limit:g} s")
    tell_what_may_follow(error, call)
    return error


def tell_what_may_follow(error: TimedOut, call: Call) -> None:
    """Say whether a call that took too long may be made again, or its outcome is unknown."""
    contribution = call.entry.contribution if call.entry else None
    error.retryable = not isinstance(contribution, Tool) or contribution.repeatable
    if not error.retryable:
        error.details.setdefault("outcome", "unknown")
