"""What a server writes for people, as lines of the host's log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

LINES = 200
"""Lines of a server that are logged in a second; more are counted."""


class ServerLog:
    """Sends lines to the host's log, as many in a second as it takes."""

    def __init__(self, pack: str, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._logger = f"mcp_host.packs.{pack}"
        self._send = send
        self._second = 0
        self._count = 0
        self._dropped = 0

    def say(self, words: str) -> None:
        """Pass on a line; one too many is counted, and the next that is passed on tells of it."""
        dropped = self._dropped_before()
        if dropped is None:
            return
        line = {"level": logging.INFO, "logger": self._logger, "message": words, "traceback": ""}
        self._send({"log": [line], "dropped": dropped})

    def _dropped_before(self) -> int | None:
        """Count a line; return how many were dropped before it, None where it is dropped too."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        if self._count > LINES:
            self._dropped += 1
            return None
        dropped, self._dropped = self._dropped, 0
        return dropped
