"""Names that nothing has, and arguments that do not fit, end here."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Iterable
from typing import Any

from ..calls import Call, Next, Wire
from ..errors import McpHostError, TimedOut, UnknownName
from ..running import Runtime
from .opening import opened

Known = Callable[[Call], Iterable[str]]
TIMEOUT = 5.0


class Validation:
    """Checks arguments.

    `known` gives the names that this caller may use, for suggestions; `missing` tells why a name
    of a pack that failed is not there; `runtime` finds a pack by name, for types whose check is
    code of the pack.
    """

    def __init__(
        self,
        known: Known,
        missing: Callable[[Call], McpHostError | None],
        runtime: Callable[[str], Runtime],
    ) -> None:
        self._known, self._missing, self._runtime = known, missing, runtime

    async def __call__(self, call: Call, following: Next) -> Wire:
        if call.entry is None:
            raise self._missing(call) or self._unknown(call)
        signature = call.entry.contribution.signature
        check = signature.check if call.kind == "tool" else signature.check_texts
        if signature.runs_code:
            runtime = self._runtime(call.entry.pack)
            call.values = await self._apart(call, runtime, lambda: check(call.arguments))
        else:
            call.values = check(call.arguments)
        return await following(call)

    async def _apart(
        self, call: Call, runtime: Runtime, check: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Check in the pack's threads: its code must not run on the host's loop."""
        await opened(runtime)
        scope = asyncio.timeout(TIMEOUT)
        try:
            async with scope:
                values: dict[str, Any] = await runtime.run(check)
                return values
        except TimeoutError:
            if not scope.expired():
                raise
            raise TimedOut(
                f"The check of the arguments of {call.name[:200]} took longer than {TIMEOUT:g} s"
            ) from None

    def _unknown(self, call: Call) -> UnknownName:
        name = call.name[:200]
        near = difflib.get_close_matches(name, list(self._known(call)), 1)
        return UnknownName(
            f"Unknown {call.kind}: {name}",
            suggestions=[f"Did you mean '{near[0]}'?"] if near else (),
        )
