"""Names that nothing has end here, with the nearest that the caller may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from ..errors import CallError, UnknownName, nearest
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

    def concerns(self, call: Call) -> bool:
        """Whether nothing has the name."""
        return call.entry is None

    async def __call__(self, call: Call, following: Next) -> Result:
        name = call.name[:200]
        known = list(self._known(call))
        near = _escaped(name, known) or nearest(name, known)
        raise self._missing(call) or UnknownName(
            f"Unknown {call.kind}: {name}",
            suggestions=[f"Did you mean '{near}'?"] if near else (),
        )


def _escaped(uri: str, templates: Iterable[str]) -> str | None:
    """The URI with `/` written as %2F inside the one variable of a template that then fits."""
    for template in sorted(templates, key=len, reverse=True):
        parts = re.split(r"\{\w+\}", template)
        if len(parts) != 2 or not (uri.startswith(parts[0]) and uri.endswith(parts[1])):
            continue
        value = uri[len(parts[0]) : len(uri) - len(parts[1])]
        if "/" in value.strip("/") and not set("?#") & set(value):
            return f"{parts[0]}{quote(value, safe='%')}{parts[1]}"
    return None
