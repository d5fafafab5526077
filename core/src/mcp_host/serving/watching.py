"""Which resources clients watch, told to the packs whose they are."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from ..declarations.context import Caller


class Watched(Protocol):
    """What is told of what is watched: the host."""

    def owner(self, uri: str, caller: Caller) -> str | None: ...

    def watched(self, pack: str, uris: frozenset[str]) -> None: ...


class Watching:
    """Counts who watches each resource, and tells its pack when the first begins and the last ends.

    What one connection or stream watches is a set, which `begin` and `end` change.
    """

    def __init__(self, host: Watched) -> None:
        self._host = host
        self._counts: Counter[str] = Counter()
        self._owners: dict[str, str] = {}
        self._told: dict[str, frozenset[str]] = {}

    def begin(self, watched: set[str], uri: str, caller: Caller) -> None:
        """Let a connection or stream watch a resource."""
        if uri in watched:
            return
        watched.add(uri)
        self._counts[uri] += 1
        if uri not in self._owners and (pack := self._host.owner(uri, caller)) is not None:
            self._owners[uri] = pack
            self._tell(pack, self._told.get(pack, frozenset()) | {uri})

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
        self._host.watched(pack, uris)
