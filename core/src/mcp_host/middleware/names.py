"""Names that nothing has end here, with the nearest that the caller may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from ..errors import UnknownName, nearest
from ..packs.access import may_read
from ..packs.entry import What
from ..packs.inventory import Inventory
from .call import Call, Next, Result
from .opening import unavailable


class Names:
    """Says of a name that nothing has what it may have meant, or why its pack is not there."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def concerns(self, call: Call) -> bool:
        """Whether nothing has the name."""
        return call.entry is None

    async def __call__(self, call: Call, following: Next) -> Result:
        self._check_failed(call)
        name = call.name[:200]
        known = self._known(call)
        near = _escaped(name, known) or nearest(name, known)
        raise UnknownName(
            f"Unknown {call.kind}: {name}",
            suggestions=[f"Did you mean '{near}'?"] if near else (),
        )

    def _check_failed(self, call: Call) -> None:
        """`Unavailable` where it would be a name of a pack that has failed."""
        if call.kind == "resource":
            return  # a URI does not tell whose it would be
        for pack in self._inventory.owners(call.name):
            if pack.condition.state == "failed" and may_read(pack.name, call.context.caller):
                raise unavailable(pack.name, pack.condition)

    def _known(self, call: Call) -> list[str]:
        """The names that this caller may use, of the kind that the call is of.

        Those of resources are their URIs and the templates of such.
        """
        visible, caller = self._inventory.lists.visible, call.context.caller
        if call.kind == "resource":
            templates = visible("resourceTemplates", caller)
            return [
                *(str(item["uri"]) for item in visible("resources", caller)),
                *(str(item["uriTemplate"]) for item in templates),
            ]
        if call.kind == "method":
            return list(self._inventory.catalog.methods)
        what: What = "tools" if call.kind == "tool" else "prompts"
        return [str(item["name"]) for item in visible(what, caller)]


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
