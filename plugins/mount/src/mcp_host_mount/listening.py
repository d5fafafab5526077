"""What a server of the stateless era tells of changes: it is asked by a request that stays open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .links import Message
from .peer import METHOD_NOT_FOUND
from .server import Server

METHOD = "subscriptions/listen"
LISTS = ("tools", "prompts", "resources")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a server that has ended the subscription is asked again; doubled each time."""


class Listening:
    """The one subscription at a server: changes of its lists, and of resources that are watched.

    A subscription that ends is begun again, and `on_gap` hears that changes may have been missed.
    Safe in any thread.
    """

    def __init__(self, server: Server, on_gap: Callable[[], None]) -> None:
        self._server = server
        self._on_gap = on_gap
        self._lock = threading.Lock()
        self._uris: frozenset[str] = frozenset()
        self._number = 0
        self._pause = FIRST_PAUSE
        self._is_refused = False

    def listen(self, uris: frozenset[str]) -> None:
        """Hear of changes of the lists and of these resources from now on."""
        with self._lock:
            if self._is_refused or (self._number and uris == self._uris):
                return
            self._uris = uris
            before, self._number = self._number, self._begin()
            if before and self._server.peer.forget(before):
                params = {"requestId": before, "reason": "other resources are watched"}
                self._server.peer.notify("notifications/cancelled", params)

    def _begin(self) -> int:
        capabilities = self._server.greeting.capabilities
        wanted: dict[str, Any] = {f"{each}ListChanged": True for each in LISTS}
        if self._uris and (capabilities.get("resources") or {}).get("subscribe"):
            wanted["resourceSubscriptions"] = sorted(self._uris)
        params = self._server.params({"notifications": wanted}, {})
        return self._server.peer.request(METHOD, params, self._ended)

    def _ended(self, message: Message) -> None:
        """Begin again after a pause, unless the server is gone or knows no subscriptions."""
        error = message.get("error")
        error = error if isinstance(error, dict) else {}
        if "lost" in error:
            return
        if error.get("code") == METHOD_NOT_FOUND:
            self._is_refused = True
            return
        timer = threading.Timer(self._pause, self._again, (message.get("id"),))
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        timer.daemon = True
        timer.start()

    def _again(self, number: object) -> None:
        with self._lock:
            if number != self._number:
                return
            self._number = self._begin()
        self._on_gap()
