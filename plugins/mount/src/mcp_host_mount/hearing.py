"""What a server says by itself: its questions, and what it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .calls.calls import Calls
from .links import Message
from .lists import Lists
from .model import Mount
from .server import Server

LONGEST_WORDS = 2000


class Hearing:
    """Passes on what a server says to whom it is for; in the link's thread."""

    def __init__(
        self,
        mount: Mount,
        server: Server,
        calls: Calls,
        lists: Lists,
        send: Callable[[Mapping[str, Any]], None],
        say: Callable[[str], None],
    ) -> None:
        self._mount = mount
        self._server = server
        self._calls = calls
        self._lists = lists
        self._send = send
        self._say = say

    def asked(self, message: Message) -> None:
        """Answer a question of the server, or put it to the one whose call runs."""
        method = message["method"]
        if method == "ping":
            self._server.peer.answer(message, {})
        elif method == "roots/list" and "roots" in self._mount.allow and self._calls.is_idle:
            self._server.peer.answer(message, {"roots": self._own_roots()})
        else:
            self._calls.ask(message)

    def told(self, message: Message) -> None:
        """Pass on a notification."""
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/progress":
            self._calls.told.progress(params)
        elif method == "notifications/message":
            if not self._calls.told.log(params):
                self._say(str(params.get("data"))[:LONGEST_WORDS])
        elif method == "notifications/cancelled":
            self._calls.withdraw_question(params.get("requestId"))
        elif method == "notifications/resources/updated":
            self._send({"changed": str(params.get("uri", ""))})
        elif method.endswith("/list_changed"):
            self._lists.look_soon()

    def _own_roots(self) -> list[dict[str, str]]:
        """The project's folder, where the host has one: the answer while no client calls."""
        root = self._mount.root
        return [] if root is None else [{"uri": f"file://{root}", "name": root.rpartition("/")[2]}]
