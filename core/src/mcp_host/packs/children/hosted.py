"""A pack's side in threads of the host, which another distribution brings: both ends of its border.

Messages are the same as between processes, but no bytes: a call and its reply cross as they are.
"""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from .child import ChildLostError, Ended, Program
from .frames import BORDER, Frame, reread

Start = Callable[[Sequence[str], Mapping[str, str], str], Program]
Heard = Callable[[Mapping[str, Any]], None]
Listener = Callable[[Mapping[str, Any], bytes], None]
Unheard = Callable[[], int]

UNHEARD = 256
"""The most messages that wait for the host's loop while a side reads on."""
BREATH = 0.005
"""Seconds between two looks whether they are fewer."""

log = logging.getLogger("mcp_host.packs")


class Inbox:
    """What the host says to a side in its threads: received one by one, or heard as it is said."""

    def __init__(self) -> None:
        self.is_gone = False
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._heard: Heard | None = None
        self._gone: Callable[[], None] = _nothing

    def get(self) -> Mapping[str, Any] | None:
        """Wait for the next message; None where the host has gone."""
        return self._waiting.get()

    def hear(self, heard: Heard, gone: Callable[[], None]) -> None:
        """Have every message heard from now on; and once that the host has gone."""
        with self._lock:
            self._gone = gone
            while not self._waiting.empty():
                message = self._waiting.get()
                if message is not None:
                    heard(message)
            self._heard = heard  # last: from here on, nothing takes the lock any more
            is_gone = self.is_gone
        if is_gone:
            gone()

    def put(self, message: Mapping[str, Any]) -> None:
        """Take a message in."""
        if self._heard is None:
            with self._lock:
                if self._heard is None:
                    self._waiting.put(message)
                    return
        self._heard(message)

    def leave(self) -> None:
        """Take in that the host has gone."""
        with self._lock:
            if self.is_gone:
                return
            self.is_gone = True
            self._waiting.put(None)
        self._gone()


class ThreadBorder:
    """The side's end of the border, where it lives in threads of the host; as `WorkerBorder`.

    Every method may be called in any thread.
    """

    version = BORDER

    def __init__(self, inbox: Inbox, say: Listener, start: Start, unheard: Unheard) -> None:
        self._inbox = inbox
        self._say = say
        self._start = start
        self._unheard = unheard

    def receive(self) -> tuple[Mapping[str, Any], bytes] | None:
        """Wait for the host's next message; None where the host has gone."""
        message = self._inbox.get()
        return None if message is None else (message, b"")

    def hear(self, heard: Heard, gone: Callable[[], None]) -> None:
        """Have every later message heard on the host's loop, which `heard` must not hold up.

        `gone` is called once where the host has gone without a word, in any thread.
        """
        self._inbox.hear(heard, gone)

    def send(self, message: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message; nothing where the host has gone."""
        if not self._inbox.is_gone:
            self._say(message, body)

    def start(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> Program:
        """Start a program that ends with the host, however that ends; `OSError` where none can be.

        The limits of the pack's process are its own, and `argv` begins with an absolute path.
        """
        return self._start(argv, environment, folder)

    def breathe(self) -> None:
        """Wait while the host has too much to hear; for a thread that holds no lock."""
        while self._unheard() > UNHEARD and not self._inbox.is_gone:
            time.sleep(BREATH)


class HostedChild:
    """One side in threads of the host, as `Child` is one in a process.

    `ended` is set when it is killed, has failed, or a program of it has used more than it may.
    """

    def __init__(self, name: str, serve: Callable[[ThreadBorder], None], start: Start) -> None:
        self.ended: Future[Ended] = Future()
        self.unheard: Unheard = _none
        self._start = start
        self._programs: list[Program] = []
        self._lock = threading.Lock()
        self._said: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._listener: Listener | None = None
        self._inbox = Inbox()
        border = ThreadBorder(self._inbox, self._hear, self._run, lambda: self.unheard())
        threading.Thread(
            target=self._serve, args=(serve, border), name=f"pack-{name}-worker", daemon=True
        ).start()

    @property
    def pid(self) -> int:
        """The process of its program; 0 where none was started."""
        return self._programs[-1].pid if self._programs else 0

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._inbox.put(message if "call" in message else reread(message))

    def receive(self, timeout: float) -> Frame:
        """Return the next message; `TimeoutError`, `ChildLostError`."""
        try:
            one = self._said.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if one is None:
            raise ChildLostError("it has failed")
        return one

    def listen(self, listener: Listener) -> None:
        """Have all that it says heard, in whatever thread says it."""
        with self._lock:
            while not self._said.empty():
                one = self._said.get()
                if one is not None:
                    listener(*one)
            self._listener = listener

    def kill(self) -> None:
        """End its programs, and listen no more."""
        self._leave()
        self._has_ended(Ended(-signal.SIGKILL))

    def close(self) -> None:
        """As `kill`."""
        self.kill()

    def how_it_ended(self) -> Ended:
        """Return how it ended; it is ended where it has not yet."""
        self.kill()
        return self.ended.result()

    def _serve(self, serve: Callable[[ThreadBorder], None], border: ThreadBorder) -> None:
        try:
            serve(border)
        except Exception:
            log.exception("a worker has failed")
            self._leave()
            self._has_ended(Ended(1))

    def _leave(self) -> None:
        """Have the side know that the host has gone, and end its programs."""
        self._inbox.leave()
        for program in self._programs:
            if not program.ended.done():
                program.kill()

    def _run(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> Program:
        if self._inbox.is_gone:
            raise OSError("the host has gone")
        program = self._start(argv, environment, folder)
        self._programs.append(program)
        program.ended.add_done_callback(self._program_ended)
        if self._inbox.is_gone:  # meanwhile
            program.kill()
        return program

    def _program_ended(self, ended: Future[Ended]) -> None:
        if ended.result().over:
            self._has_ended(ended.result())

    def _has_ended(self, ended: Ended) -> None:
        with self._lock:
            is_new = not self.ended.done() and self.ended.set_running_or_notify_cancel()
        if is_new:
            self.ended.set_result(ended)
            self._said.put(None)

    def _hear(self, message: Mapping[str, Any], body: bytes) -> None:
        if "reply" not in message:
            message = reread(message)
        if self._listener is None:
            with self._lock:
                if self._listener is None:
                    self._said.put((dict(message), body))
                    return
        self._listener(message, body)


def _nothing() -> None:
    """Hear nothing."""


def _none() -> int:
    return 0
