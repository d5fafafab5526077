"""Calls that come before their server is there: they wait for it, as long as their callers do."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from .calls.calls import Calls


class EarlyCalls:
    """Keeps calls back until `let_in`, and passes on all that come later. Safe in any thread."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._waiting: dict[int, Mapping[str, Any]] | None = {}

    def begin(self, message: Mapping[str, Any]) -> None:
        """Begin the call that the host tells of, or have it wait for the server."""
        if self._waiting is not None:
            with self._lock:
                if self._waiting is not None:
                    self._waiting[message["number"]] = message
                    return
        self._calls.begin(message)

    def cancel(self, number: int) -> None:
        """Let go of a call that nobody waits for any more."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.pop(number, None)
        self._calls.cancel(number)

    def let_in(self) -> None:
        """Begin what has waited: the server is there, or will not come, which each is told."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
            for message in (waiting or {}).values():
                self._calls.begin(message)
