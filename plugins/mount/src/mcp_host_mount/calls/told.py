"""What the server tells of calls that run: how far they are, and lines of its log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from .running import InProgress

Send = Callable[[Mapping[str, Any], bytes], None]


class Told:
    """Passes on what the server tells to the caller whose call it is about.

    `lock` is that of whoever changes what is in progress.
    """

    def __init__(self, in_progress: InProgress, lock: threading.RLock, send: Send) -> None:
        self._in_progress = in_progress
        self._lock = lock
        self._send = send

    def progress(self, params: Mapping[str, Any]) -> None:
        """Pass on how far a call is."""
        running = self._in_progress.of_token(params.get("progressToken"))
        done, total, words = (params.get(key) for key in ("progress", "total", "message"))
        if running is None or running.ticket or not isinstance(done, int | float):
            return
        total = total if isinstance(total, int | float) else None
        self._send({"said": ["progress", done, total, words], "number": running.number}, b"")

    def log(self, params: Mapping[str, Any]) -> bool:
        """Pass a line of the log on to the one caller whose calls run; return whether it was."""
        with self._lock:
            there = [one for one in self._in_progress if one.request and not one.ticket]
            if not there or len({one.group for one in there}) > 1:
                return False
            said = ["log", params.get("level", "info"), params.get("data"), params.get("logger")]
            self._send({"said": said, "number": there[0].number}, b"")
            return True
