"""A thread beside the host's loop: it hears signals, ends what hangs, and tells who holds all up.

What it says it writes by itself, without `logging`: a pack may hold every lock that there is.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType

from ..startup.descriptors import private
from ..startup.signals import NUMBERS, RELOAD, on_end, on_reload
from .stacks import at_work, place
from .threads import LAST_LONG

BEAT = 1.0
"""Seconds between two looks at the interpreter and the loop."""
NOTICE = 1.0
"""Seconds that a look may come late, or the loop be busy, before it is told."""
DUMP = 3.0
"""Seconds without a look after which the stacks of all threads are written, by a thread of C."""


class Watchdog:
    """Watches over one event loop, which `watch` is called on, in the main thread.

    `out` is the descriptor that it writes to. The first signal calls `stop` on the loop; `patience`
    seconds later, or on a second signal, the process ends with `code`, whatever hangs. `modules`
    tells which pack a module and all below it belong to. SIGUSR1 calls `reload` on the loop, where
    it is given. `interval` tells for how long a thread may hold the interpreter from now on;
    without it, for as long as it was when `watch` was called.

    Invariants: `_ends_at` is set once, and never put off. `_asked_at` and `_has_told` are set by
    the thread, and cleared by the loop's answer. From `watch` on there is a `_loop`, which alone
    runs `stop` and `reload`.
    """

    def __init__(
        self,
        out: int,
        *,
        stop: Callable[[], None],
        patience: float,
        code: int,
        modules: Callable[[], Mapping[str, str]],
        reload: Callable[[], None] | None = None,
        interval: Callable[[], float] | None = None,
    ) -> None:
        self._out = out
        self._stop = stop
        self._patience = patience
        self._code = code
        self._modules = modules
        self._reload = reload
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main = threading.get_ident()
        self._signals, self._wake = (_out_of_reach(side) for side in socket.socketpair())
        self._ends_at: float | None = None
        self._asked_at: float | None = None
        self._interval = interval
        self._usual_interval = sys.getswitchinterval()
        self._has_told = False

    def watch(self) -> None:
        """Begin, with the running loop."""
        self._loop = asyncio.get_running_loop()
        if not faulthandler.is_enabled():  # else the flight record takes it
            faulthandler.enable(self._out)
        self._usual_interval = sys.getswitchinterval()
        self._hear_signals()
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def ending(self) -> None:
        """Allow `patience` seconds from now until the process has ended."""
        if self._ends_at is None:
            self._ends_at = time.monotonic() + self._patience

    def _hear_signals(self) -> None:
        """Have the interpreter write each signal's number into a socket that the thread reads.

        That happens at once, also while the main thread does not come to run Python.
        """
        for side in (self._signals, self._wake):
            side.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        on_end(_do_nothing)
        if self._reload is not None:
            on_reload()

    def _run(self) -> None:
        self._signals.settimeout(BEAT)
        while True:
            faulthandler.dump_traceback_later(DUMP, file=self._out)
            interval = self._usual_interval if self._interval is None else self._interval()
            sys.setswitchinterval(interval)  # whatever a pack has made of it
            began = time.monotonic()
            heard = self._heard()
            now = time.monotonic()
            if now - began - BEAT > NOTICE:
                self._tell_who_held(now - began)
            for number in heard:
                if number in NUMBERS:
                    self._on_signal()
                elif number == RELOAD and self._reload is not None:
                    self._post(self._reload)
            self._look_at_loop(now)
            if self._ends_at is not None and now > self._ends_at:
                self._say("the process did not end in time; it is ended")
                os._exit(self._code)

    def _heard(self) -> bytes:
        try:
            return self._signals.recv(64)
        except TimeoutError:
            return b""

    def _on_signal(self) -> None:
        if self._ends_at is not None:
            os._exit(self._code)
        self.ending()
        self._post(self._stop)

    def _post(self, function: Callable[[], None]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # the loop has ended, and the process is about to
            return

    def _look_at_loop(self, now: float) -> None:
        """Ask the loop for a sign of life, and tell where it hangs when none comes."""
        if self._asked_at is None:
            self._asked_at = now
            self._post(self._answered)
        elif now - self._asked_at > NOTICE + BEAT and not self._has_told:
            self._has_told = True
            frame = sys._current_frames().get(self._main)
            self._say(
                f"the host's loop has been busy for {now - self._asked_at:.1f} s{place(frame)}"
            )

    def _answered(self) -> None:
        self._asked_at = None
        self._has_told = False

    def _tell_who_held(self, seconds: float) -> None:
        """Tell which packs were at work while no other thread came to run Python."""
        just_ended = time.monotonic() - NOTICE
        ended = [f"pack {name}" for name, at in LAST_LONG.items() if at > just_ended]
        held = dict.fromkeys([*at_work(self._modules()), *ended])
        if held:
            self._say(
                f"the interpreter was held for {seconds:.1f} s, and nothing else could run;"
                f" at work {'was' if len(held) == 1 else 'were'} {', '.join(held)}"
            )

    def _say(self, text: str) -> None:
        try:
            os.write(self._out, f"watchdog: {text}\n".encode("utf-8", "backslashreplace")[:4096])
        except OSError:
            return


def _out_of_reach(side: socket.socket) -> socket.socket:
    """Return the same end of a socket pair under a number that no pack meets by chance."""
    copy = socket.socket(fileno=private(side.fileno()))
    side.close()
    return copy


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Stand in for the default of a signal, which would end the process."""
