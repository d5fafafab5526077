"""One connection to a mounted server: started, greeted, and asked for its lists."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from mcp_host import ThreadBorder

from .entries import Entry
from .greeting import envelope, greet
from .links import LinkError, Message, StdioLink
from .model import ASKING, HANDSHAKE, Greeting, Mount
from .peer import METHOD_NOT_FOUND, Peer, ServerError

PAGES = 200
"""The most pages of one list that are read."""
MOST = 10_000
"""The most entries of one list that are read."""
A_MOMENT = 1.0
"""Seconds until a process that takes no messages has told how it ended."""
ASKED = frozenset(("elicitation", "elicitation.url", *ASKING))
"""What an envelope says of a client, of all that one may offer; a client may name anything."""
LISTS = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "resourceTemplates": ("resources/templates/list", "resources"),
}
"""Each list with the method that reads it, and the capability that has it."""


class Link(Protocol):
    """What carries messages to a server."""

    def send(self, message: Message) -> None: ...
    def close(self) -> None: ...
    def agreed(self, version: str) -> None: ...


class Server:
    """A mounted server; `on_request` and `on_notification` hear what it says by itself.

    `say` hears the lines that its process writes for people, and `on_end` why it is gone.
    `programs` starts its process, where it has one.
    """

    def __init__(
        self,
        mount: Mount,
        on_request: Callable[[Message], None],
        on_notification: Callable[[Message], None],
        say: Callable[[str], None],
        on_end: Callable[[str], None],
        programs: ThreadBorder | None = None,
    ) -> None:
        self._programs = programs
        self.peer = Peer(on_request, on_notification)
        self.greeting = Greeting("")
        self._mount = mount
        self._say = say
        self._on_end = on_end
        self._link: Link | None = None
        self._envelopes: dict[frozenset[str] | None, dict[str, Any]] = {}
        self._may_end = False
        self._has_ended = threading.Event()

    def connect(self, seconds: float, spoken: str) -> None:
        """Start the server or reach it, and greet it. Raises `LinkError` and `ServerError`.

        `spoken` is the version that it spoke before, where that is known. A process that ends when
        it is asked for its versions is started again, and greeted as older servers are.
        """
        self._may_end = "url" not in self._mount.keys and not spoken
        try:
            self._greet(seconds, spoken)
        except LinkError:
            if not (self._may_end and self._has_ended.wait(A_MOMENT)):
                raise
            self._may_end = False
            self.close()
            self.peer.begin_anew()
            self._greet(seconds, HANDSHAKE)
        self._may_end = False

    def _greet(self, seconds: float, spoken: str) -> None:
        self._link = self._linked()
        self.peer.send = self._link.send
        self.greeting = greet(self.peer, self._mount, seconds, self._link.agreed, spoken)

    @property
    def needs_login(self) -> bool:
        """Whether the server has let nobody in who is not logged in."""
        return getattr(self._link, "needs_login", False)

    def params(
        self,
        given: Mapping[str, Any],
        meta: Mapping[str, Any],
        offers: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """Return a request's parameters with what the protocol's version wants of them.

        `offers` is what the client offers whose call it is; None where it is no client's.
        """
        if not self.greeting.is_stateless:
            return {**given, "_meta": meta} if meta else dict(given)
        envelope = self._envelope(offers)
        return {**given, "_meta": {**envelope, **meta} if meta else envelope}

    def _envelope(self, offers: Collection[str] | None) -> dict[str, Any]:
        key = None if offers is None else ASKED.intersection(offers)
        made = self._envelopes.get(key)
        if made is None:
            made = self._envelopes[key] = envelope(self._mount, offers)
        return made

    def lists(self, seconds: float) -> dict[str, list[Entry]]:
        """Read every list that the server has; never in the link's thread."""
        return {
            what: self._list(what, method, seconds)
            for what, (method, capability) in LISTS.items()
            if capability in self.greeting.capabilities
        }

    def close(self) -> None:
        """End the connection, and a server that was started for it."""
        if self._link is not None:
            self._link.close()

    def _list(self, what: str, method: str, seconds: float) -> list[Entry]:
        found: list[Entry] = []
        cursor: dict[str, Any] = {}
        for _ in range(PAGES):
            try:
                page = self.peer.ask(method, self.params(cursor, {}), seconds)
            except ServerError as error:
                if error.code == METHOD_NOT_FOUND:
                    return found
                raise
            entries = page.get(what)
            found += entries if isinstance(entries, list) else []
            if not isinstance(page.get("nextCursor"), str) or len(found) >= MOST:
                break
            cursor = {"cursor": page["nextCursor"]}
        return found[:MOST]

    def _linked(self) -> Link:
        keys, mount = self._mount.keys, self._mount
        if "url" in keys:
            from .http import HttpLink  # the SDK's import takes half a second
            from .login.auth import login_of

            headers = {name: str(value) for name, value in keys.get("headers", {}).items()}
            return HttpLink(
                str(keys["url"]),
                headers,
                keys.get("transport"),
                login_of(mount, headers),
                self._hear,
                self._ended,
            )
        folder = str(Path(mount.folder, keys.get("cwd", "")).expanduser())
        given = {name: _text(value) for name, value in keys.get("env", {}).items()}
        assert self._programs is not None
        return StdioLink(
            self._programs,
            command(keys, mount.folder),
            {**mount.environment, **given},
            folder,
            self._hear,
            self.peer.refuses,
            self.peer.unreadable,
            self._say,
            self._ended,
        )

    def _hear(self, message: Message) -> None:
        """Take in a message; one that cannot be must not end those that follow."""
        try:
            self.peer.hear(message)
        except Exception as error:
            self._say(f"a message of it cannot be taken in: {type(error).__name__}: {error}")

    def _ended(self, why: str) -> None:
        self.peer.end(why)
        if self._may_end:
            self._has_ended.set()
        else:
            self._on_end(why)


def command(keys: Mapping[str, Any], folder: str) -> list[str]:
    """Return the command that the keys of a mount name, or that is made for a server object."""
    if "server" not in keys:
        program, *rest = map(str, keys["command"])
        here = Path(folder, program).expanduser()
        return [str(here) if "/" in program else program, *rest]
    python = keys.get("python")
    interpreter = sys.executable if python is None else str(Path(folder, str(python)).expanduser())
    place, _, name = str(keys["server"]).rpartition(":")
    place = file_of(keys, folder) or place
    return [interpreter, str(Path(__file__).with_name("serve_object.py")), place, name]


def file_of(keys: Mapping[str, Any], folder: str) -> str | None:
    """Return the file that a mount's server object is in; None where that is a module."""
    place = str(keys.get("server", "")).rpartition(":")[0]
    return str(Path(folder, place).expanduser()) if place.endswith(".py") else None


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
