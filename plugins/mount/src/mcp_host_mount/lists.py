"""A server's lists as the host knows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .calls.names import Names
from .chores import Chores
from .entries import Shaped, shape
from .learned import Learned, changes
from .links import LinkError
from .model import HANDSHAKE, Mount
from .peer import ServerError
from .server import Server

LISTING = 30.0
"""Seconds until a server must have answered a request for one page of a list."""


class Lists:
    """What the host was told of a server's lists, kept for later starts.

    `names` leads to the server's own names, and `shaped` is all that was declared, as of now.
    """

    def __init__(
        self,
        mount: Mount,
        server: Server,
        chores: Chores,
        send: Callable[[Mapping[str, Any]], None],
        say: Callable[[str], None],
    ) -> None:
        self.names = Names({})
        self.shaped = Shaped({})
        self._mount = mount
        self._server = server
        self._chores = chores
        self._send = send
        self._say = say
        self._learned = Learned(mount)
        self._will_look = False
        self._asks_as_before = False

    @property
    def spoken(self) -> str:
        """The version that the server spoke before; empty where that is not known."""
        return self._learned.spoken

    def learned(self) -> Shaped | None:
        """Return what was kept of an earlier start; None where nothing was."""
        return self._learned.read()

    def read(self) -> Shaped:
        """Ask the server for its lists, and keep them. Raises `LinkError` and `ServerError`."""
        found = shape(self._server.lists(LISTING), self._server.greeting, self._mount)
        self._keep(found)
        return found

    def asks_as_before(self) -> None:
        """Remember that the server's questions come in the handshake era alone."""
        if not self._asks_as_before:
            self._asks_as_before = True
            self._keep(self.shaped)

    def _keep(self, found: Shaped) -> None:
        spoken = HANDSHAKE if self._asks_as_before else self._server.greeting.version
        self._learned.write(found, spoken)

    def take(self, found: Shaped) -> None:
        """Go by these lists from now on."""
        self.shaped = found
        self.names.of = found.names

    def announce(self, before: Shaped) -> bool:
        """Tell the host how the lists differ from those before; return whether they do."""
        differences = changes(before.declared, self.shaped.declared)
        if differences:
            self._send({"list_changes": differences})
        return bool(differences)

    def look_soon(self) -> None:
        """Have the lists read again; once, however often that is asked for meanwhile."""
        if not self._will_look:
            self._will_look = True
            self._chores.put(self._look_again)

    def _look_again(self) -> None:
        """Read the lists again, and announce what is different, or else that the server said so."""
        self._will_look = False
        before = self.shaped
        try:
            self.take(self.read())
        except (LinkError, ServerError) as error:
            self._say(f"its lists cannot be read again: {error}")
            return
        if not self.announce(before):
            self._send({"lists_changed": True})
