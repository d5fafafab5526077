"""A pack's process as the host holds it: its socket, and how it ended."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from ...startup.dataclass import dataclass
from .frames import Frame, Frames, frame

LAST_WORD = 5.0
"""Seconds until the supervisor has told how a child ended whose socket was closed."""


@dataclass(frozen=True)
class ChildLaunch:
    """How a child is started.

    `argv` is the command of an interpreter of its own, to which the child's program is added unless
    it `is_whole`; None has the child forked from the supervisor. `path` is where a forked child
    imports from, `folder` its working directory, which is the host's where it is empty. `limits`
    are `memory` (bytes), `open_files` and `processes`.
    """

    environment: Mapping[str, str]
    path: tuple[str, ...] = ()
    folder: str = ""
    argv: tuple[str, ...] | None = None
    limits: Mapping[str, int] | None = None
    is_whole: bool = False


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or a signal's number below 0.

    `over` names the limit that it was ended for.
    """

    status: int
    over: str = ""

    @property
    def words(self) -> str:
        """How it ended, as in "SIGSEGV" or "exit code 3"."""
        if self.status >= 0:
            return f"exit code {self.status}"
        try:
            return signal.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"


class ChildLostError(Exception):
    """The child has ended, or has closed its end."""


class Process:
    """A process of the supervisor's; `ended` is set, in another thread, when it is no more.

    `pid` is 0 until it is `known`.
    """

    def __init__(self, kill: Callable[[], None]) -> None:
        self.ended: Future[Ended] = Future()
        self.pid = 0
        self.known = threading.Event()
        self._kill = kill

    def kill(self) -> None:
        """End it now, with all that it has started."""
        self._kill()


class Program(Process):
    """A program with standard streams; `input`, `output` and `errors` are the host's ends.

    Whoever has it closes them.
    """

    def __init__(self, streams: tuple[int, int, int], kill: Callable[[], None]) -> None:
        super().__init__(kill)
        self.input, self.output, self.errors = streams

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it has started in its group; none where it has ended."""
        if self.known.wait(LAST_WORD) and not self.ended.done():
            with suppress(OSError):
                os.killpg(self.pid, number)


class Child(Process):
    """A process that is a pack's side, with a border of its own.

    `receive` and `send` block, and serve until somebody else takes over `socket` and `frames`.
    """

    def __init__(self, end: socket.socket, kill: Callable[[], None]) -> None:
        super().__init__(kill)
        self.socket = end
        self.frames = Frames()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; `ChildLostError` where nobody takes it."""
        try:
            self.socket.settimeout(LAST_WORD)
            self.socket.sendall(frame(message))
        except OSError as error:
            raise ChildLostError(str(error)) from None

    def receive(self, timeout: float) -> Frame:
        """Return the next frame. Raises `TimeoutError`, `FrameError` and `ChildLostError`."""
        ends_at = time.monotonic() + timeout
        while (one := self.frames.next()) is None:
            self.socket.settimeout(max(0.001, ends_at - time.monotonic()))
            try:
                data = self.socket.recv(256 * 1024)
            except TimeoutError:
                raise
            except OSError as error:
                raise ChildLostError(str(error)) from None
            if not data:
                raise ChildLostError("it closed its end")
            self.frames.feed(data)
        return one

    def close(self) -> None:
        """Close the host's end, which ends a child that listens."""
        with suppress(OSError):
            self.socket.close()

    def how_it_ended(self) -> Ended:
        """Return how it ended; it is ended where it has not yet."""
        if not self.ended.done():
            with suppress(TimeoutError):
                return self.ended.result(0.5)  # its socket closes a moment before it is reaped
            self.kill()
        try:
            return self.ended.result(LAST_WORD)
        except TimeoutError:
            return Ended(-signal.SIGKILL)


def started(message: Mapping[str, Any], child: Process) -> None:
    """Note that the supervisor has started a child."""
    child.pid = int(message["pid"])
    child.known.set()
