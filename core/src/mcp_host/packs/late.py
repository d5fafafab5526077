"""Packs that take long to load, when somebody waits for all of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from .declared import Outcome


class Late:
    """Waits for packs that take long to load; `arrives` may be called from any thread."""

    def __init__(self) -> None:
        self._arrived: dict[str, Outcome] = {}
        self._changed = threading.Condition()

    def arrives(self, name: str, outcome: Outcome) -> None:
        """Take in what came of a pack."""
        with self._changed:
            self._arrived[name] = outcome
            self._changed.notify_all()

    def completed(self, found: Mapping[str, Outcome | None]) -> dict[str, Outcome]:
        """Return what came of all, those included that were not there at once."""
        late = {name for name, outcome in found.items() if outcome is None}
        with self._changed:
            self._changed.wait_for(lambda: late <= self._arrived.keys())
        return {name: outcome or self._arrived[name] for name, outcome in found.items()}
