"""The worker of a mounted server: the host on one side, the server on the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from mcp_host import ThreadBorder, WorkerBorder

from .calls.calls import Calls
from .chores import Chores
from .completion import propose
from .early import EarlyCalls
from .entries import Shaped
from .hearing import Hearing
from .learned import folder_of
from .links import LinkError
from .lists import Lists
from .model import Mount
from .peer import ServerError
from .server import Server, file_of
from .server_log import ServerLog
from .watching import Watching

LONGEST_START = 120.0
"""Seconds until a server must have answered that was never seen before: it may be installed."""
A_MOMENT = 1.0
STEP = 3.0
"""Seconds between two words to the host that the server is still waited for."""
FIRST = 0.8
"""How much of the host's time for opening is waited before it is told that the server is slow."""


def main() -> None:
    """Serve the host until it closes, in a process for this alone."""
    border = WorkerBorder()
    received = border.receive()
    if received is not None:
        Worker(border, received[0]).run(border)


def serve(border: ThreadBorder) -> None:
    """Serve the host, in threads of it."""
    received = border.receive()
    if received is not None:
        Worker(border, received[0], border).run_hosted(border)


class Worker:
    """Answers the host, whose first message `told` is.

    `_is_open` says that the host was told so, and `_is_there` that the server has answered. Once it
    `_is_closing`, nobody hears any more that the server has ended; `_ended` says why it has.

    Invariants: `_is_open`, `_is_there` and `_is_closing` never change back, and the first two
    change under `_opening`. Whoever holds `_sending` writes one message whole.
    """

    def __init__(
        self,
        border: WorkerBorder | ThreadBorder,
        told: Mapping[str, Any],
        programs: ThreadBorder | None = None,
    ) -> None:
        self._border = border
        self._is_process = programs is None
        self._before = told.get("declared")
        self._opening = threading.Lock()
        self._is_there = self._is_open = self._is_closing = False
        self._ended = ""
        self._is_gone = threading.Event()
        folder = told.get("folder") or folder_of(told.get("source"))
        mount = self._mount = Mount.of(told, folder)
        say = ServerLog(mount.pack, self._send).say
        self._server = Server(
            mount,
            lambda message: self._hearing.asked(message),
            lambda message: self._hearing.told(message),
            say,
            self._gone,
            programs,
        )
        self._chores = Chores(say)
        self._lists = Lists(mount, self._server, self._chores, self._send, say)
        self._calls = Calls(
            mount, self._server, self._lists.names, self._send, self._lists.asks_as_before
        )
        self._early = EarlyCalls(self._calls)
        self._watching = Watching(self._server, self._lists.look_soon)
        self._hearing = Hearing(mount, self._server, self._calls, self._lists, self._tell, say)

    def run(self, border: WorkerBorder) -> None:
        """Answer messages until the host closes or is gone."""
        if self._declare():
            while (received := border.receive()) is not None:
                if "close" in received[0]:
                    break
                self._answer(received[0])
        self._close()

    def run_hosted(self, border: ThreadBorder) -> None:
        """Answer messages on the host's loop from now on, once it was told what is declared."""
        if self._declare():
            border.hear(self._answer, self._begin_closing)
        else:
            self._close()

    def _begin_closing(self) -> None:
        self._is_closing = True
        threading.Thread(target=self._close, name="closing", daemon=True).start()

    def _close(self) -> None:
        self._is_closing = True
        self._server.close()
        self._chores.end()
        self._send({"closed": True})

    def _answer(self, message: Mapping[str, Any]) -> None:
        """Do what the host says, without a wait."""
        if "call" in message:
            self._early.begin(message)
        elif "cancel" in message:
            self._early.cancel(message["cancel"])
        elif "open" in message:
            self._watching.uris = frozenset(message["open"].get("watched", ()))
            threading.Thread(target=self._open, name="opening", daemon=True).start()
        elif "propose" in message:
            number = message["number"]
            propose(
                self._server,
                self._lists,
                message["propose"],
                lambda proposed: self._send({"reply": number, **proposed}),
            )
        elif "watched" in message:
            self._watching.uris = frozenset(message["watched"])
            self._chores.put(self._watching.subscribe)
        elif "check" in message:
            noted = self._lists.shaped.notes
            notes = [{"problem": each, "remedy": "", "note": True} for each in noted]
            self._send({"reply": message["number"], "found": notes})
        elif "close" in message:
            self._begin_closing()

    def _send(self, message: Mapping[str, Any], body: bytes = b"") -> None:
        if self._is_process and "result" in message:  # the body says it
            message = {key: value for key, value in message.items() if key != "result"}
        try:
            self._border.send(message, body)
        except OSError:
            self._is_closing = True  # the host is gone: the next word of it is the last

    def _tell(self, message: Mapping[str, Any]) -> None:
        """Tell the host of a change, once it has what is changed: the pack is open then."""
        if self._is_there:
            self._send(message)

    def _declare(self) -> bool:
        """Declare what was learned, or ask the server; return whether that was possible.

        A worker that is started again declares what the first one did.
        """
        found = self._lists.learned()
        if self._before is not None:
            found = Shaped(self._before, found.names if found else {}, found.notes if found else [])
        if found is None:
            found = self._connected_within(LONGEST_START)
        if found is None:
            code, remedy = self._failure("mount_failed", f"see to {self._mount.where}")
            refused = [code, self._ended, remedy]
            self._send({"border": self._border.version, "refused": refused})
            return False
        self._lists.take(found)
        file = file_of(self._mount.keys, self._mount.folder)
        declared = {**found.declared, "file": file} if file else found.declared
        self._send({"border": self._border.version, "declared": declared})
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
            self._server.connect(seconds, self._lists.spoken)
            return self._lists.read()
        except LinkError as error:
            self._is_gone.wait(A_MOMENT)  # how it ended says more than that it takes nothing
            self._ended = self._ended or str(error)
        except ServerError as error:
            self._ended = f"its server has refused: {error}"
        return None

    def _open(self) -> None:
        """Connect where that is not done, and say how the lists differ from those declared."""
        before = self._lists.shaped
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
            self._lists.take(found)
        self._chores.put(self._watching.subscribe)
        with self._opening:
            self._send({"condition": None} if self._is_open else {"opened": None})
            self._is_open = self._is_there = True
        self._lists.announce(before)
        self._chores.begin()
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
        remedy = f"see to {self._mount.where}; the log has what it wrote"
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

    def _gone(self, why: str) -> None:
        self._ended = self._ended or why
        self._is_gone.set()
        self._calls.end()
        if self._is_open and not self._is_closing:
            code, _ = self._failure("server_lost", "")
            self._send({"lost": {"reason": why, "code": code}})


if __name__ == "__main__":
    main()
