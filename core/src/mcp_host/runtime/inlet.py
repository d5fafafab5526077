"""The way from the host to a pack's own process: what it says is read by one thread at a time."""

from __future__ import annotations

import os
import selectors
import socket
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from ..packs.children.frames import Frame, FrameError, Frames

AT_ONCE = 256 * 1024
"""The most bytes that are read at once."""

Work: TypeAlias = Callable[[], None]
Hear: TypeAlias = Callable[[Mapping[str, Any]], Work | None]
"""Hears a message in the thread that read it; what it returns is to be done in that thread, too."""


class Inlet:
    """Reads the messages of the host; the process ends where the host is gone or does not speak.

    Whoever reads a message that means work does the work himself, and another thread reads on:
    so a call is run in the thread that the system woke for it, and needs no other.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._frames = Frames()

    def receive(self) -> Frame:
        """Wait for the next message, as long as the socket blocks."""
        while (one := self._next()) is None:
            self._take()
        return one

    def read_on(self, hear: Hear, post: Callable[[Work], None]) -> None:
        """Read for ever, from now on without blocking reads; `post` has another thread do work."""
        # One that needs no descriptor: a pack may close what it has not opened.
        poll: selectors.BaseSelector = getattr(
            selectors, "PollSelector", selectors.SelectSelector
        )()
        poll.register(self._socket, selectors.EVENT_READ)

        def read() -> None:
            while True:
                while (one := self._next()) is None:
                    poll.select()
                    self._take()
                try:
                    work = hear(one[0])
                except Exception:
                    traceback.print_exc()
                    _end()
                if work is not None:
                    post(read)
                    work()
                    return

        post(read)

    def _next(self) -> Frame | None:
        try:
            return self._frames.next()
        except FrameError:
            _end()

    def _take(self) -> None:
        try:
            data = self._socket.recv(AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            _end()
        if not data:
            _end()
        self._frames.feed(data)


def _end() -> NoReturn:
    """End the process: there is nobody to serve."""
    os._exit(0)
