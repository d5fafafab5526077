"""What a tool may ask of its running call: plain calls, never awaited, safe in threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from ..startup.dataclass import dataclass

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


@dataclass(frozen=True)
class Caller:
    """Who calls, as far as the host knows.

    `subject` and `scopes` come from the token of an HTTP request; without tokens both are None,
    and the caller may do what the settings allow. `connection` is stable for one stdio link or one
    session over HTTP and is shared with no other; it is None over HTTP without a session, where
    nothing tells one client from another. `offers` are the names of what it can be asked, and
    `extensions` the protocol extensions that it has, with its settings of each. `client` is what
    the client calls itself, and proves nothing. `offered` are the scopes that it could get from the
    issuer of its token: what needs them is listed as well; None where it could get no others.
    """

    subject: str | None = None
    scopes: frozenset[str] | None = None
    client: str | None = None
    connection: str | None = "local"
    protocol: str = ""
    offers: frozenset[str] = frozenset()
    extensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    offered: frozenset[str] | None = None

    @property
    def identity(self) -> str | None:
        """What proves that two calls come from one caller; None where nothing does."""
        if self.subject is not None:
            return f"subject:{self.subject}"
        return None if self.connection is None else f"connection:{self.connection}"


class ClientChannel(Protocol):
    """What reaches the client of one call; every method may be called in any thread.

    `wants_progress` says whether anybody is to hear how far the call is.
    """

    @property
    def wants_progress(self) -> bool: ...
    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def log(self, level: Level, data: Any, logger: str | None) -> None: ...
    def notify(self, method: str, params: Mapping[str, Any]) -> None: ...
    def close_stream(self) -> None: ...


class NullChannel:
    """The channel of a call whose client cannot be told anything."""

    wants_progress = False

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Nobody listens."""

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Nobody listens."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Nobody listens."""

    def close_stream(self) -> None:
        """There is no stream."""


class _Both:
    """Two channels of one call."""

    def __init__(self, first: ClientChannel, second: ClientChannel) -> None:
        self._channels = (first, second)

    @property
    def wants_progress(self) -> bool:
        return any(channel.wants_progress for channel in self._channels)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        for channel in self._channels:
            channel.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        for channel in self._channels:
            channel.log(level, data, logger)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        for channel in self._channels:
            channel.notify(method, params)

    def close_stream(self) -> None:
        for channel in self._channels:
            channel.close_stream()


class Context:
    """The running call, as its tool, resource or prompt sees it.

    `deadline` is a time of `time.monotonic()` in seconds; `cancelled` turns true when the caller
    cancelled the call or the deadline passed. Code that writes looks at both before it commits.
    `key` is the caller's key of a keyed call (`@tool(key=…)`), None for a call without one.
    """

    def __init__(
        self,
        request_id: str,
        caller: Caller,
        *,
        channel: ClientChannel | None = None,
        on_changed: Callable[[str], None] | None = None,
    ) -> None:
        self.request_id = request_id
        self.caller = caller
        self.deadline = float("inf")
        self.key: str | None = None
        self._channel = channel or NullChannel()
        self._on_changed = on_changed
        self._is_cancelled = False
        self._has_begun = False

    @property
    def channel(self) -> ClientChannel:
        """How the call reaches its client; the host's own."""
        return self._channel

    def also_tell(self, channel: ClientChannel) -> None:
        """Tell another channel all that the client is told; the host calls it."""
        self._channel = _Both(channel, self._channel)

    def redirect(self, channel: ClientChannel) -> None:
        """Tell this channel what the client would be told; the host calls it."""
        self._channel = channel

    @property
    def has_begun(self) -> bool:
        """Whether the function was called; the host's own."""
        return self._has_begun

    def begin(self) -> None:
        """Note that the function is called now; the host calls it."""
        self._has_begun = True

    def cancel(self) -> None:
        """Say that nobody waits for this call any more; the host calls it."""
        self._is_cancelled = True

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this call any more."""
        return self._is_cancelled or time.monotonic() >= self.deadline

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never less than 0."""
        return max(0.0, self.deadline - time.monotonic())

    def extension(self, identifier: str) -> Mapping[str, Any] | None:
        """Return the client's settings of a protocol extension; None where it has not declared it.

        A client that has it without settings gives an empty mapping.
        """
        return self.caller.extensions.get(identifier)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call is; silent where it did not ask."""
        self._channel.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client; silent where it did not ask for this level."""
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        self._channel.log(level, data, logger)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send the client a notification of a protocol extension that the pack serves.

        `method` is one of the extension's `sends`, and `params` JSON data; `ValueError` otherwise.
        Silent where the client has not declared the extension. It comes before the answer.
        """
        self._channel.notify(method, params or {})

    def changed(self, uri: str) -> None:
        """Tell every client that watches this resource that it changed."""
        if self._on_changed is not None:
            self._on_changed(uri)

    def close_stream(self) -> None:
        """Let the client come back later for the rest (SSE polling), where that is possible."""
        self._channel.close_stream()
