"""Packs that take long to load: what comes of them waits until somebody takes it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .declared import Outcome

Follower = Callable[[str, Outcome], None]
"""Takes the name of a pack and what came of it, in the thread that loaded it."""


class Late:
    """What came of packs that took long to load; `arrives` may be called from any thread.

    Invariant: what `_arrived` has, nobody has taken yet, and there is none once there is a
    `_follower`; both change under `_changed`.
    """

    def __init__(self) -> None:
        self._arrived: dict[str, Outcome] = {}
        self._follower: Follower | None = None
        self._changed = threading.Condition()

    def arrives(self, name: str, outcome: Outcome) -> None:
        """Take in what came of a pack."""
        with self._changed:
            follower = self._follower
            if follower is None:
                self._arrived[name] = outcome
                self._changed.notify_all()
                return
        follower(name, outcome)

    def all_of(self, count: int) -> dict[str, Outcome]:
        """Wait until so many have come, and return what came of each, by its name."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._arrived) == count)
            return self._taken()

    def follow(self, follower: Follower) -> None:
        """Tell of each that comes from now on, from any thread; of those that came, at once."""
        with self._changed:
            self._follower = follower
            arrived = self._taken()
        for name, outcome in arrived.items():
            follower(name, outcome)

    def _taken(self) -> dict[str, Outcome]:
        arrived, self._arrived = self._arrived, {}
        return arrived
