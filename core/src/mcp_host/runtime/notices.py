"""What packs say has changed, as notices to other processes, and what is heard from those."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

DEBOUNCE = 0.1
"""Seconds in which several changes of one resource are told as one."""
WAITING = 10_000
"""The most notices that wait to be told; of more, the newest are not."""


class Notice(NamedTuple):
    """What a pack has said: that a resource changed, or, without a `uri`, that its lists did."""

    pack: str
    uri: str


class Notices:
    """Merges notices of a moment, and knows those of its own process; on the host's loop.

    `publish` takes the texts that buses carry, several at a time; `is_heard` says whether a pack
    has a bus at all, in any thread.
    """

    def __init__(
        self, publish: Callable[[Sequence[str]], None], is_heard: Callable[[], bool]
    ) -> None:
        self._publish = publish
        self._is_heard = is_heard
        self._origin = uuid.uuid4().hex
        self._waiting: dict[Notice, None] = {}

    @property
    def are_heard(self) -> bool:
        """Whether there are other processes to tell; in any thread."""
        return self._is_heard()

    def tell(self, notice: Notice) -> None:
        """Tell the other processes in a moment, once for all that come until then."""
        if not self._is_heard() or len(self._waiting) >= WAITING:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_later(DEBOUNCE, self.flush)
        self._waiting[notice] = None

    def flush(self) -> None:
        """Tell at once what waits."""
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._publish([f"{self._origin} {pack} {uri}" for pack, uri in waiting])

    def read(self, text: str) -> Notice | None:
        """Return what another process tells; None for what this one has told, or nobody."""
        origin, _, rest = text.partition(" ")
        pack, space, uri = rest.partition(" ")
        return Notice(pack, uri) if space and origin != self._origin else None
