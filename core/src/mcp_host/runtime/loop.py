"""One event loop in one thread, for one pack."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..packs.threads import named_for
from .crossing import Crossing

if sys.platform == "linux":
    from .affinity import WakeAffinity
    from .unblocking import Buffer, UnblockingSelector, UnblockingSocket, send

log = logging.getLogger("mcp_host.packs")

MOMENT = 0.3
"""Seconds that work which was cancelled gets to end."""


class _SelectorLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, but that it reads once where another thread has woken it.

    asyncio reads until nothing is left: one more system call, and an exception, for every call.
    What is left here wakes the loop again.
    """

    def _read_from_self(self) -> None:
        try:
            woken = self._ssock.recv(4096)  # type: ignore[attr-defined]  # asyncio's own
        except (BlockingIOError, InterruptedError):
            return
        self._process_self_data(woken)  # type: ignore[attr-defined]  # asyncio's own


if sys.platform == "linux":

    class _UnblockingLoop(_SelectorLoop):
        """A loop that lets go of the interpreter where it waits, and nowhere else.

        See `unblocking`. TLS and datagrams are asyncio's own. `affinity` is that of its thread.
        """

        def __init__(self, affinity: WakeAffinity | None = None) -> None:
            super().__init__(UnblockingSelector(affinity))
            self._buffer = Buffer()

        def _make_socket_transport(self, sock: socket.socket, *given: Any, **named: Any) -> Any:
            made = super()._make_socket_transport(sock, *given, **named)  # type: ignore[misc]  # asyncio's own
            made._sock = UnblockingSocket(sock, self._buffer)
            return made

        def _write_to_self(self) -> None:
            woken = self._csock  # type: ignore[attr-defined]  # asyncio's own
            if woken is not None:  # else the loop has ended
                with suppress(OSError):  # it is full, so that the loop will wake, or just closed
                    send(woken.fileno(), b"\0")


def new_asyncio_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop of asyncio's, for a pack or the host."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    return _UnblockingLoop() if sys.platform == "linux" else _SelectorLoop()


class PackLoop:
    """One event loop in one thread, for one pack.

    `way_there` is that of calls, of which so many `jobs` are waited for, and so many have `ended`.
    `thread` is its number in the system, 0 until it runs; `affinity` is the thread's, on Linux.
    """

    def __init__(self, name: str) -> None:
        self.affinity: WakeAffinity | None = None
        if sys.platform == "linux":
            self.affinity = WakeAffinity()
            self.loop: asyncio.AbstractEventLoop = _UnblockingLoop(self.affinity)
        else:
            self.loop = new_asyncio_loop()
        self.stopping = False
        self.jobs = 0
        self.ended = 0
        self.thread = 0
        draw = self.affinity.draw_here if self.affinity is not None else None
        self.way_there = Crossing(self.loop, before_waking=draw)
        self._name = name

    def start(self) -> None:
        """Begin to run."""
        entry = named_for(self._name, self._run)
        threading.Thread(target=entry, name=f"pack-{self._name}", daemon=True).start()

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the loop call a function, after the calls so far; silent where it has ended."""
        self.way_there.post(function, *arguments)

    def stop(self) -> None:
        """End the loop as soon as what runs on it lets go."""
        self.stopping = True
        self.post(self.loop.stop)

    def _run(self) -> None:
        self.thread = threading.get_native_id()
        if self.affinity is not None:
            self.affinity.begin()
        asyncio.set_event_loop(self.loop)
        while not self.stopping:
            try:
                self.loop.run_forever()
            except BaseException:
                log.exception("a background task of the pack ended its event loop; it goes on")
        if rest := asyncio.all_tasks(self.loop):  # calls that still run hear that it is over
            for task in rest:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(rest, timeout=MOMENT))
        self.way_there.close()
        self.loop.close()
