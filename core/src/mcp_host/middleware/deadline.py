"""A call is answered by its deadline, whatever its pack does; the clock starts here."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ..declarations.tool import Tool
from ..errors import TimedOut
from ..runtime.alarms import Alarms
from ..settings.tables import PackTable
from .call import Call, Next, Result


class Deadline:
    """The first that is set counts: the tool's setting, the pack's, the tool's own, `default`.

    The time in which a person was asked is not the call's: it comes here again afterwards, with
    what is left. A call that can go on behind a handle does so at its deadline.
    """

    def __init__(self, packs: Mapping[str, PackTable], default: float) -> None:
        self._packs = packs
        self._default = default
        self._alarms = Alarms()

    async def __call__(self, call: Call, following: Next) -> Result:
        limit, movable = self._limit(call), call.movable
        left = longest = max(0.0, limit - call.used)
        if movable is None:
            scope = self._alarms.limit(left)
        else:  # its pack hears the later deadline at once: it cannot be told another one
            scope, longest = movable.limited(self._alarms, left), max(left, movable.limit)
        began = time.monotonic()
        call.context.deadline = began + longest
        try:
            with scope:
                return await following(call)
        except TimeoutError:
            if not scope.has_expired:
                raise
            if movable is not None and movable.is_moved:
                limit = movable.limit
            if call.waits_for:
                raise TimedOut(
                    f"{call.name[:200]} did not get its turn within {limit:g} s: other calls have "
                    f"every place ({call.waits_for})"
                ) from None
            raise TimedOut(f"{call.name[:200]} took longer than {limit:g} s") from None
        finally:
            call.used += time.monotonic() - began

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
