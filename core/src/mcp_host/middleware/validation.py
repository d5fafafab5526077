"""Names that nothing has, and arguments that do not fit, end here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from ..calls import Call, Next, Wire
from ..errors import McpHostError, UnknownName

Known = Callable[[Call], Iterable[str]]


class Validation:
    """Checks arguments.

    `known` gives the names that this caller may use, for suggestions; `missing` tells why a name
    of a pack that failed is not there.
    """

    def __init__(self, known: Known, missing: Callable[[Call], McpHostError | None]) -> None:
        self._known, self._missing = known, missing

    async def __call__(self, call: Call, following: Next) -> Wire:
        if call.entry is None:
            raise self._missing(call) or self._unknown(call)
        signature = call.entry.contribution.signature
        if call.kind == "tool":
            call.values = signature.check(call.arguments)
        else:
            call.values = signature.check_texts(call.arguments)
        return await following(call)

    def _unknown(self, call: Call) -> UnknownName:
        name = call.name[:200]
        near = difflib.get_close_matches(name, list(self._known(call)), 1)
        return UnknownName(
            f"Unknown {call.kind}: {name}",
            suggestions=[f"Did you mean '{near[0]}'?"] if near else (),
        )
