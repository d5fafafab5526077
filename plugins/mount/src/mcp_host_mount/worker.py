"""The worker of a mounted server: the host on one side, the server on the other."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from mcp_host import WorkerBorder

from .calls import Calls, Names
from .early import EarlyCalls
from .entries import Shaped, shape
from .learned import Learned, changes, folder_of
from .links import LinkError, Message
from .listening import Listening
from .model import Mount
from .peer import ServerError
from .server import Server

LONGEST_START = 120.0
"""Seconds until a server must have answered that was never seen before: it may be installed."""
LISTING = 30.0
A_MOMENT = 1.0
STEP = 3.0
"""Seconds between two words to the host that the server is still waited for."""
LINES = 200
"""Lines of a server that are logged in a second; more are counted."""
FIRST = 0.8
"""How much of the host's time for opening is waited before it is told that the server is slow."""


def main() -> None:
    """Serve the host until it closes."""
    Worker(WorkerBorder()).run()


class Worker:
    """Answers the host; `_declared` is what it was told of the server's lists, as of now."""

    def __init__(self, border: WorkerBorder) -> None:
        self._border = border
        self._sending = threading.Lock()
        self._chores: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._watched: frozenset[str] = frozenset()
        self._subscribed: set[str] = set()
        self._lines = Lines()
        self._opening = threading.Lock()
        self._is_there = False
        self._is_open = self._is_closing = self._will_look = False
        self._ended = ""
        self._is_gone = threading.Event()

    def run(self) -> None:
        """Answer messages until the host closes or is gone."""
        received = self._border.receive()
        if received is None:
            return
        told = received[0]
        self._mount = Mount.of(told, folder_of(told.get("source")))
        self._learned = Learned(self._mount)
        self._names = Names({})
        self._server = self._new_server()
        self._calls = Calls(self._mount, self._server, self._names, self._send)
        self._early = EarlyCalls(self._calls)
        self._listening = Listening(self._server, self._look_soon)
        threading.Thread(target=self._do_chores, name="chores", daemon=True).start()
        if self._declare(told.get("declared")):
            self._answer()
        self._is_closing = True
        self._server.close()

    # -- the host

    def _answer(self) -> None:
        while (received := self._border.receive()) is not None:
            message, _ = received
            if "call" in message:
                self._early.begin(message["number"], message["call"])
            elif "cancel" in message:
                self._early.cancel(message["cancel"])
            elif "open" in message:
                self._watched = frozenset(message["open"].get("watched", ()))
                threading.Thread(target=self._open, name="opening", daemon=True).start()
            elif "propose" in message:
                self._propose(message["number"], message["propose"])
            elif "watched" in message:
                self._watched = frozenset(message["watched"])
                self._chores.put(self._watch)
            elif "check" in message:
                notes = [{"problem": each, "remedy": "", "note": True} for each in self._notes]
                self._send({"reply": message["number"], "found": notes})
            elif "close" in message:
                self._is_closing = True
                self._server.close()
                self._send({"closed": True})
                return

    def _send(self, message: Mapping[str, Any], body: bytes = b"") -> None:
        with self._sending:
            try:
                self._border.send(message, body)
            except OSError:
                self._is_closing = True  # the host is gone: the next word of it is the last

    def _declare(self, before: dict[str, Any] | None) -> bool:
        """Declare what was learned, or ask the server; return whether that was possible.

        A worker that is started again declares what the first one did, which is `before`.
        """
        found = self._learned.read()
        if before is not None:
            found = Shaped(before, found.names if found else {}, found.notes if found else [])
        if found is None:
            found = self._connected_within(LONGEST_START)
        if found is None:
            code, remedy = self._failure("mount_failed", "see to its command or address")
            refused = [code, self._ended, remedy]
            self._send({"border": self._border.version, "refused": refused})
            return False
        self._take(found)
        self._send({"border": self._border.version, "declared": found.declared})
        return True

    def _connected_within(self, seconds: float) -> Shaped | None:
        """Connect, and tell the host meanwhile that it takes its time."""
        found: list[Shaped | None] = []
        thread = threading.Thread(target=lambda: found.append(self._connect(seconds)), daemon=True)
        thread.start()
        began = time.monotonic()
        while thread.is_alive() and time.monotonic() - began < seconds:
            waited = time.monotonic() - began
            self._send({"step": f"starting its server, for {waited:.0f} s"})
            thread.join(STEP)
        return found[0] if found else None

    def _connect(self, seconds: float) -> Shaped | None:
        """Connect to the server and read its lists; None, and `_ended` why, where it fails."""
        try:
            self._server.connect(seconds, self._learned.spoken)
            found = shape(self._server.lists(LISTING), self._server.greeting, self._mount)
        except LinkError as error:
            self._is_gone.wait(A_MOMENT)  # how it ended says more than that it takes nothing
            self._ended = self._ended or str(error)
            return None
        except ServerError as error:
            self._ended = f"its server has refused: {error}"
            return None
        self._learned.write(found, self._server.greeting.version)
        return found

    def _open(self) -> None:
        """Connect where that is not done, and say how the lists differ from those declared."""
        before = self._shaped
        if not self._server.greeting.version:
            slow = threading.Timer(FIRST * self._mount.start_timeout, self._opened_slowly)
            slow.daemon = True
            slow.start()
            found = self._connect(LONGEST_START)
            slow.cancel()
            if found is None:
                self._fail()
                self._early.let_in()
                return
            self._take(found)
        self._chores.put(self._watch)
        with self._opening:
            self._send({"condition": None} if self._is_open else {"opened": None})
            self._is_open = self._is_there = True
        self._announce(before, self._shaped)
        self._early.let_in()

    def _opened_slowly(self) -> None:
        with self._opening:
            if self._is_there:
                return
            self._is_open = True
            self._send({"opened": None})
            reason = "its server has not answered yet"
            starting = ["starting", reason, "it may be installing what it needs"]
            self._send({"condition": starting})

    def _fail(self) -> None:
        remedy = "see to its command or address; the log has what it wrote"
        code, remedy = self._failure("server_lost", remedy)
        why = {"reason": self._ended or "its server has ended", "code": code}
        if self._is_open:
            self._send({"lost": why})
        else:
            self._send({"opened": {**why, "remedy": remedy}})

    def _failure(self, code: str, remedy: str) -> tuple[str, str]:
        """Return the code and the remedy of a failure: those given, or those of a missing login."""
        if self._server.needs_login:
            return "login_needed", f"log in: mcp-host login {self._mount.pack}"
        return code, remedy

    def _take(self, found: Shaped) -> None:
        self._shaped = found
        self._names.of = found.names

    @property
    def _notes(self) -> list[str]:
        return self._shaped.notes

    def _announce(self, before: Shaped, now: Shaped) -> bool:
        """Tell the host how the lists differ; return whether they do."""
        differences = changes(before.declared, now.declared)
        if differences:
            self._send({"list_changes": differences})
        return bool(differences)

    def _propose(self, number: int, wanted: Mapping[str, Any]) -> None:
        """Ask the server for values of an argument."""
        kind = wanted["kind"]
        uri = wanted["key"]
        for one in self._shaped.declared["resources"]:
            if one["uri"] == uri:
                uri = one["wire"].get("uriTemplate", uri)
        ref = (
            {"type": "ref/resource", "uri": uri}
            if kind == "resource"
            else {"type": "ref/prompt", "name": self._names.own(kind, wanted["key"])}
        )
        given = {
            "ref": ref,
            "argument": {"name": wanted["argument"], "value": wanted["value"]},
            "context": {"arguments": wanted.get("given") or {}},
        }

        def replied(message: Message) -> None:
            result = message.get("result")
            completion = result.get("completion") if isinstance(result, dict) else None
            values = completion.get("values") if isinstance(completion, dict) else None
            proposed = [str(value) for value in values or ()][: wanted["limit"]]
            total = completion.get("total") if isinstance(completion, dict) else None
            count = total if isinstance(total, int) else len(proposed)
            self._send({"reply": number, "proposed": proposed, "total": count})

        self._server.peer.request("completion/complete", self._server.params(given, {}), replied)

    # -- the server

    def _new_server(self) -> Server:
        return Server(self._mount, self._asked, self._told, self._say, self._gone)

    def _asked(self, message: Message) -> None:
        method = message["method"]
        if method == "ping":
            self._server.peer.answer(message, {})
        elif method == "roots/list" and "roots" in self._mount.allow and self._calls.is_idle:
            self._server.peer.answer(message, {"roots": self._own_roots()})
        else:
            self._calls.asked(message)

    def _own_roots(self) -> list[dict[str, str]]:
        """The project's folder, where the host has one: the answer while no client calls."""
        root = self._mount.root
        return [] if root is None else [{"uri": f"file://{root}", "name": root.rpartition("/")[2]}]

    def _told(self, message: Message) -> None:
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/progress":
            self._calls.progressed(params)
        elif method == "notifications/message":
            if not self._calls.logged(params):
                self._say(str(params.get("data"))[:2000])
        elif method == "notifications/resources/updated":
            self._send({"changed": str(params.get("uri", ""))})
        elif method.endswith("/list_changed"):
            self._look_soon()

    def _look_soon(self) -> None:
        """Have the lists read again; once, however often that is asked for meanwhile."""
        if not self._will_look:
            self._will_look = True
            self._chores.put(self._look_again)

    def _look_again(self) -> None:
        """Read the lists again, and announce what is different, or else that the server said so."""
        self._will_look = False
        try:
            lists = self._server.lists(LISTING)
        except (LinkError, ServerError) as error:
            self._say(f"its lists cannot be read again: {error}")
            return
        before = self._shaped
        self._take(shape(lists, self._server.greeting, self._mount))
        self._learned.write(self._shaped, self._server.greeting.version)
        if not self._announce(before, self._shaped):
            self._send({"lists_changed": True})

    def _watch(self) -> None:
        """Subscribe to the resources that clients watch, and to no other."""
        if self._server.greeting.is_stateless:
            self._listening.listen(self._watched)
            return
        if not self._server.greeting.capabilities.get("resources", {}).get("subscribe"):
            return
        for uri in self._watched - self._subscribed:
            self._server.peer.request("resources/subscribe", {"uri": uri}, lambda _: None)
        for uri in self._subscribed - self._watched:
            self._server.peer.request("resources/unsubscribe", {"uri": uri}, lambda _: None)
        self._subscribed = set(self._watched)

    def _gone(self, why: str) -> None:
        self._ended = self._ended or why
        self._is_gone.set()
        self._calls.end()
        if self._is_open and not self._is_closing:
            code, _ = self._failure("server_lost", "")
            self._send({"lost": {"reason": why, "code": code}})

    def _say(self, words: str) -> None:
        """Pass on a line for people to the host's log."""
        dropped = self._lines.dropped_before()
        if dropped is None:
            return
        line = {
            "level": logging.INFO,
            "logger": f"mcp_host.packs.{self._mount.pack}",
            "message": words,
            "traceback": "",
        }
        self._send({"log": [line], "dropped": dropped})

    def _do_chores(self) -> None:
        while True:
            chore = self._chores.get()
            try:
                chore()
            except Exception as error:  # one chore must not end those that follow
                self._say(f"{type(error).__name__}: {error}")


class Lines:
    """How many lines are logged in a second."""

    def __init__(self) -> None:
        self._second = 0
        self._count = 0
        self._dropped = 0

    def dropped_before(self) -> int | None:
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


if __name__ == "__main__":
    main()
