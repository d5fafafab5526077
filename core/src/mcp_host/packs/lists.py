"""The lists that clients see: made of the catalog's entries, per caller, in pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..declarations.context import Caller
from ..errors import INVALID_PARAMS, ProtocolError
from .access import is_listed
from .catalog import Catalog
from .entry import Entry, What

PAGED = 16
"""How many lists are remembered for those who are in the middle of one."""


class Lists:
    """Every list, made when it is first asked for and kept until `forget`.

    `is_listed` says of a pack, by its name, whether its entries stand in the lists now; `order` has
    the packs as the lists have them, whichever was loaded first. `exposed` says which
    tools stand in their list, of all that there are. `skills` gives entries of the packs' skills,
    which stand among the resources.
    """

    def __init__(
        self,
        catalog: Catalog,
        page_size: int,
        is_listed: Callable[[str], bool],
        order: Sequence[str],
        exposed: Callable[[Sequence[Entry]], Sequence[Entry]] | None = None,
        skills: Callable[[], Iterable[Entry]] = tuple,
    ) -> None:
        self.order(order)
        self._catalog = catalog
        self._page_size = page_size
        self._is_listed = is_listed
        self.exposed = exposed
        self._skills = skills
        self._whole: dict[What, list[Entry]] = {}
        self._made: dict[What, Sequence[Entry]] = {}
        self._turn = 0
        self._paged: dict[tuple[What, int], Sequence[Entry]] = {}

    def order(self, packs: Iterable[str]) -> None:
        """Have the lists show the packs in this order, from the next `forget` on."""
        self._place = {pack: place for place, pack in enumerate(packs)}

    def visible(self, what: What, caller: Caller) -> list[Mapping[str, Any]]:
        """Return one list whole, as this caller may see it."""
        return [entry.listed for entry in self.entries(what) if is_listed(entry, caller)]

    def page(self, what: What, cursor: str | None, caller: Caller) -> dict[str, Any]:
        """Return one page of a list: `{what: […], "nextCursor"?}`; a cursor is an earlier page's.

        Raises `ProtocolError` for a cursor that is none of this server's.
        """
        start, turn = _place(cursor) if cursor else (0, self._turn)
        entries = self._paged.get((what, turn)) if cursor else None
        if entries is None:
            entries, turn = self.entries(what), self._turn
        everything = [entry.listed for entry in entries if is_listed(entry, caller)]
        end = start + self._page_size
        page: dict[str, Any] = {what: everything[start:end]}
        if end < len(everything):
            page["nextCursor"] = _cursor(end, turn)
            self._keep(what, turn, entries)
        return page

    def entries(self, what: What) -> Sequence[Entry]:
        """Return the entries that one list shows, to whoever may see them."""
        entries = self._made.get(what)
        if entries is None:
            entries = self.everything(what)
            if what == "tools" and self.exposed is not None:
                entries = self.exposed(entries)
            self._made[what] = entries
        return entries

    def as_now(self, what: What) -> Sequence[Entry]:
        """As `entries`, made anew and not kept: for threads beside the one that changes them."""
        entries = self._listed(what)
        return self.exposed(entries) if what == "tools" and self.exposed else entries

    def everything(self, what: What) -> Sequence[Entry]:
        """Return the entries that one list would show whole; one object until `forget`."""
        entries = self._whole.get(what)
        if entries is None:
            entries = self._whole[what] = self._listed(what)
        return entries

    def _listed(self, what: What) -> list[Entry]:
        place = self._place
        skills = self._skills() if what == "resources" else ()
        entries = [
            entry
            for entry in (*self._catalog.entries(what), *skills)
            if entry.pack in place and self._is_listed(entry.pack) and not entry.refusal
        ]
        entries.sort(key=lambda entry: place[entry.pack])
        return entries

    def _keep(self, what: What, turn: int, entries: Sequence[Entry]) -> None:
        """Remember a list that somebody is in the middle of; of many, the newest."""
        self._paged[what, turn] = entries
        while len(self._paged) > PAGED:
            del self._paged[next(iter(self._paged))]

    def forget(self) -> None:
        """Make the lists anew when they are next asked for.

        Who is in the middle of a list gets the rest of that one, as long as it is remembered.
        """
        if self._paged:
            self._turn += 1
        self._made.clear()
        self._whole.clear()


def _cursor(offset: int, turn: int) -> str:
    text = f"o{offset}.{turn}" if turn else f"o{offset}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[int, int]:
    """The offset that a cursor means, and in which turn of the lists."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        offset, _, turn = text[1:].partition(".")
        if not text.startswith("o") or not offset.isdecimal():
            raise ValueError
        return int(offset), int(turn or 0)
    except (ValueError, binascii.Error):
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: not one of this server's") from None
