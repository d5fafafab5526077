"""What a server shows of itself first."""

from __future__ import annotations

from .protocol import LISTS
from .records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Catalogue(Record):
    """Who a server is, and the first page of each of its lists.

    `may_change` says that packs add to the lists while they serve: nobody may keep them.
    `extensions` are the protocol extensions, with the settings of each.
    """

    name: str
    version: str
    title: str | None
    instructions: str | None
    pages: Mapping[str, Mapping[str, Any]]
    may_change: bool = False
    extensions: Mapping[str, Mapping[str, Any]] = {}

    @property
    def info(self) -> dict[str, str]:
        """Who the server is, as the protocol tells it."""
        info = {"name": self.name, "version": self.version}
        return info if self.title is None else {**info, "title": self.title}

    @property
    def is_whole(self) -> bool:
        """Whether every list is there, as a page of data."""
        return set(self.pages) == set(LISTS.values()) and all(
            isinstance(page, dict) and isinstance(page.get(what), list)
            for what, page in self.pages.items()
        )
