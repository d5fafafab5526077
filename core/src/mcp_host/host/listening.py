"""What one pack says outside its answers, passed on to the host."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from ..packs.conditions import Condition
from ..packs.pack import Pack
from ..runtime.health import Health
from ..runtime.messages import ListChange
from ..runtime.notices import Notice
from ..runtime.offered import OfferedEntries
from .changes import ChangeListeners

log = logging.getLogger("mcp_host")


class HostListener:
    """Hears one pack, as a `PackListener`; once another pack has its place, it is heard no more."""

    def __init__(
        self,
        packs: Mapping[str, Pack],
        changes: ChangeListeners,
        pack: Pack,
        health: Health,
        entries: OfferedEntries,
    ) -> None:
        self._packs = packs
        self._changes = changes
        self._pack = pack
        self._health = health
        self._entries = entries

    @property
    def _serves(self) -> bool:
        return self._packs.get(self._pack.name) is self._pack

    def changed(self, uri: str) -> None:
        self._changes.tell(Notice(self._pack.name, uri))

    def lists_changed(self) -> None:
        self._changes.tell(Notice(self._pack.name, ""))

    def heard(self, notice: str) -> None:
        if self._serves:
            self._changes.heard(notice)

    def list_changes(self, changes: Sequence[ListChange]) -> None:
        if self._serves:
            self._entries.apply(changes)
            self._health.refused(self._entries.refusal)
            self._changes.of_lists()

    def reported(self, condition: Condition | None) -> None:
        self._health.reported(condition)

    def dropped(self, count: int) -> None:
        log.warning(
            "pack %s: %d changes were too many at once, and dropped", self._pack.name, count
        )
