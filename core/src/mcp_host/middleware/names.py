"""Names that nothing has end here, with the nearest that the caller may use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from ..errors import CallError, UnknownName
from .call import Call, Next, Result


class Names:
    """`known` gives the names that this caller may use; `missing` says why a name of a pack that
    failed is not there.
    """

    def __init__(
        self,
        known: Callable[[Call], Iterable[str]],
        missing: Callable[[Call], CallError | None],
    ) -> None:
        self._known = known
        self._missing = missing

    async def __call__(self, call: Call, following: Next) -> Result:
        if call.entry is not None:
            return await following(call)
        name = call.name[:200]
        near = difflib.get_close_matches(name, list(self._known(call)), 1)
        raise self._missing(call) or UnknownName(
            f"Unknown {call.kind}: {name}",
            suggestions=[f"Did you mean '{near[0]}'?"] if near else (),
        )
