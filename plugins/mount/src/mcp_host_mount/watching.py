"""Which of a server's changes it is asked to tell."""

from __future__ import annotations

from collections.abc import Callable

from .listening import Listening
from .server import Server


class Watching:
    """Subscribes to the resources that clients watch, and to no other, in either era.

    `uris` are those that are wanted; `on_gap` hears where changes of lists may have been missed.
    """

    def __init__(self, server: Server, on_gap: Callable[[], None]) -> None:
        self.uris: frozenset[str] = frozenset()
        self._server = server
        self._listening = Listening(server, on_gap)
        self._subscribed: frozenset[str] = frozenset()

    def subscribe(self) -> None:
        """Subscribe to what is wanted now; never in the link's thread."""
        greeting, request = self._server.greeting, self._server.peer.request
        if greeting.is_stateless:
            self._listening.listen(self.uris)
            return
        if not (greeting.capabilities.get("resources") or {}).get("subscribe"):
            return
        wanted = self.uris
        for uri in wanted - self._subscribed:
            request("resources/subscribe", {"uri": uri}, lambda _: None)
        for uri in self._subscribed - wanted:
            request("resources/unsubscribe", {"uri": uri}, lambda _: None)
        self._subscribed = wanted
