"""Which resources clients watch, told to the packs whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..declarations.context import Caller


class Watching:
    """Counts who watches each resource, and tells its pack when the first begins and the last ends.

    What one connection or stream watches is a set, which `begin` and `end` change; all sessions of
    a host count here. `owner` finds the pack of a resource, and `tell` lets a pack know which of
    its resources are watched now.
    """

    def __init__(
        self,
        owner: Callable[[str, Caller], str | None],
        tell: Callable[[str, frozenset[str]], None],
    ) -> None:
        self._owner = owner
        self._tell_pack = tell
        self._counts: Counter[str] = Counter()
        self._owners: dict[str, str] = {}
        self._told: dict[str, frozenset[str]] = {}

    def begin(self, watched: set[str], uri: str, caller: Caller) -> None:
        """Let a connection or stream watch a resource."""
        if uri not in watched:
            watched.add(uri)
            self._counts[uri] += 1
        if uri not in self._owners and (pack := self._owner(uri, caller)) is not None:
            self._owners[uri] = pack
            self._tell(pack, self._told.get(pack, frozenset()) | {uri})

    def is_watched(self, uri: str) -> bool:
        """Whether any connection or stream watches the resource; in any thread."""
        return uri in self._counts

    def end(self, watched: set[str], uri: str) -> None:
        """Let it watch the resource no more."""
        if uri not in watched:
            return
        watched.discard(uri)
        self._counts[uri] -= 1
        if self._counts[uri] == 0:
            del self._counts[uri]
            if (pack := self._owners.pop(uri, None)) is not None:
                self._tell(pack, self._told[pack] - {uri})

    def end_all(self, watched: set[str]) -> None:
        """Let it watch nothing more: it has ended."""
        for uri in list(watched):
            self.end(watched, uri)

    def _tell(self, pack: str, uris: frozenset[str]) -> None:
        self._told[pack] = uris
        self._tell_pack(pack, uris)
