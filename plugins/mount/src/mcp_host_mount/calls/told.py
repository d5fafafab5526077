"""What the server tells of calls that run: how far they are, and lines of its log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from .running import InProgress

LEVELS = frozenset(
    ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
)
OTHER_LEVELS = {"trace": "debug", "warn": "warning", "err": "error", "fatal": "critical"}
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
        if running is None or running.ticket or not _is_number(done):
            return
        total = total if _is_number(total) else None
        words = words if isinstance(words, str) else None
        self._send({"said": ["progress", done, total, words], "number": running.number}, b"")

    def log(self, params: Mapping[str, Any]) -> bool:
        """Pass a line of the log on to the one caller whose calls run; return whether it was."""
        with self._lock:
            there = [one for one in self._in_progress if one.request and not one.ticket]
            if not there or len({one.group for one in there}) > 1:
                return False
            logger = params.get("logger")
            logger = logger if isinstance(logger, str) else None
            said = ["log", _level(params.get("level")), params.get("data"), logger]
            self._send({"said": said, "number": there[0].number}, b"")
            return True


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value)  # type: ignore[arg-type]  # it is one


def _level(given: object) -> str:
    """Return the level of a line as the protocol names it; servers have words of their own."""
    word = given.lower() if isinstance(given, str) else ""
    return word if word in LEVELS else OTHER_LEVELS.get(word, "info")
