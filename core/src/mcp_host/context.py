"""What a tool may ask of its running call: plain calls, never awaited, safe in threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

from .records import Record

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)


class Caller(Record):
    """Who calls, as far as the host knows.

    `subject` and `scopes` come from the token of an HTTP request; without tokens both are None,
    and the caller may do what the settings allow. `connection` is stable for one connection of a
    client and is shared with no other.
    """

    subject: str | None = None
    scopes: frozenset[str] | None = None
    client: str | None = None
    connection: str = "local"
    protocol: str = ""
    offers: frozenset[str] = frozenset()


class Way(Protocol):
    """The way back to the client of one call; every method may be called in any thread."""

    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def log(self, level: Level, data: Any, logger: str | None) -> None: ...
    def close_stream(self) -> None: ...


class Nowhere:
    """The way of a call whose client cannot be told anything."""

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Nobody listens."""

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Nobody listens."""

    def close_stream(self) -> None:
        """There is no stream."""


class Context:
    """The running call, as its tool, resource or prompt sees it.

    `deadline` is a time of `time.monotonic()` in seconds; `cancelled` turns true when the caller
    took the call back or the deadline passed. Code that writes looks at both before it commits.
    """

    def __init__(
        self,
        request_id: str,
        caller: Caller,
        *,
        way: Way | None = None,
        on_changed: Callable[[str], None] | None = None,
    ) -> None:
        self.request_id, self.caller = request_id, caller
        self.deadline = float("inf")
        self._way = way or Nowhere()
        self._on_changed = on_changed
        self._taken_back = False

    def take_back(self) -> None:
        """Say that nobody waits for this call any more; the host calls it."""
        self._taken_back = True

    @property
    def cancelled(self) -> bool:
        """Nobody waits for this call any more."""
        return self._taken_back or time.monotonic() >= self.deadline

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never less than 0."""
        return max(0.0, self.deadline - time.monotonic())

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call is; silent where it did not ask."""
        self._way.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client; silent where it did not ask for this level."""
        if level not in LEVELS:
            raise ValueError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self._way.log(level, data, logger)

    def changed(self, uri: str) -> None:
        """Tell every client that watches this resource that it changed."""
        if self._on_changed is not None:
            self._on_changed(uri)

    def close_stream(self) -> None:
        """Let the client come back later for the rest (SSE polling), where that is possible."""
        self._way.close_stream()
