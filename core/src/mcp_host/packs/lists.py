"""The lists that clients see: made of the catalog's entries, per caller, in pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..declarations.context import Caller
from ..errors import INVALID_PARAMS, ProtocolError
from .access import allows
from .catalog import Catalog, Entry, What


class Lists:
    """Every list, made when it is first asked for and kept until `forget`.

    `is_listed` says of a pack, by its name, whether its entries stand in the lists now; `order` has
    the packs as the lists have them, whichever was loaded first.
    """

    def __init__(
        self,
        catalog: Catalog,
        page_size: int,
        is_listed: Callable[[str], bool],
        order: Sequence[str],
    ) -> None:
        self._place = {pack: place for place, pack in enumerate(order)}
        self._catalog = catalog
        self._page_size = page_size
        self._is_listed = is_listed
        self._made: dict[What, list[Entry]] = {}

    def visible(self, what: What, caller: Caller) -> list[Mapping[str, Any]]:
        """Return one list whole, as this caller may see it."""
        entries = self._made.get(what)
        if entries is None:
            entries = [
                entry
                for entry in self._catalog.entries(what)
                if self._is_listed(entry.pack) and not entry.refusal
            ]
            entries.sort(key=lambda entry: self._place[entry.pack])
            self._made[what] = entries
        return [entry.listed for entry in entries if allows(entry, caller)]

    def page(self, what: What, cursor: str | None, caller: Caller) -> dict[str, Any]:
        """Return one page of a list: `{what: […], "nextCursor"?}`; a cursor is an earlier page's.

        Raises `ProtocolError` for a cursor that is none of this server's.
        """
        everything = self.visible(what, caller)
        start = _offset(cursor)
        end = start + self._page_size
        page: dict[str, Any] = {what: everything[start:end]}
        if end < len(everything):
            page["nextCursor"] = _cursor(end)
        return page

    def forget(self) -> None:
        """Make the lists anew when they are next asked for."""
        self._made.clear()


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"o{offset}".encode()).decode().rstrip("=")


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        if not text.startswith("o") or not text[1:].isdecimal():
            raise ValueError
        return int(text[1:])
    except (ValueError, binascii.Error):
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: not one of this server's") from None
