"""A call is answered by its deadline, whatever its pack does; the clock starts here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from ..declarations.tool import Tool
from ..errors import TimedOut
from ..runtime.alarms import Alarms
from ..settings.tables import PackTable
from .call import Call, Movable, Next, Result


class Deadline:
    """The first that is set counts: the tool's setting, the pack's, the tool's own, `default`.

    The time in which a person was asked is not the call's: it comes here again afterwards, with
    what is left.
    """

    def __init__(self, packs: Mapping[str, PackTable], default: float) -> None:
        self._packs = packs
        self._default = default
        self._alarms = Alarms()

    async def __call__(self, call: Call, following: Next) -> Result:
        if call.movable is not None:
            return await self._until_moved(call, call.movable, following)
        limit = self._limit(call)
        left = max(0.0, limit - call.used)
        began = time.monotonic()
        call.context.deadline = began + left
        scope = self._alarms.limit(left)
        try:
            with scope:
                return await following(call)
        except TimeoutError:
            if not scope.has_expired:
                raise
            raise TimedOut(f"{call.name[:200]} took longer than {limit:g} s") from None
        finally:
            call.used += time.monotonic() - began

    async def _until_moved(self, call: Call, movable: Movable, following: Next) -> Result:
        """Have a call go on behind a handle at its deadline, with the time of that.

        Its pack hears the later deadline from the beginning: it cannot be told another one.
        """
        own = max(0.0, self._limit(call) - call.used)
        began = time.monotonic()
        call.context.deadline = began + max(own, movable.limit)
        scope = asyncio.timeout(None)
        stop = movable.clock(scope, own)
        try:
            async with scope:
                return await following(call)
        except TimeoutError:
            if not scope.expired():
                raise
            limit = movable.limit if movable.is_moved else self._limit(call)
            raise TimedOut(f"{call.name[:200]} took longer than {limit:g} s") from None
        finally:
            call.used += time.monotonic() - began
            stop()

    def _limit(self, call: Call) -> float:
        entry = call.known
        table = self._packs.get(entry.pack)
        contribution = entry.contribution
        if table is not None and contribution.name in table.tools:
            of_tool = table.tools[contribution.name].timeout
            if of_tool is not None:
                return of_tool
        if table is not None and table.timeout is not None:
            return table.timeout
        if isinstance(contribution, Tool) and contribution.timeout is not None:
            return contribution.timeout
        return self._default
