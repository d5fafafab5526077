"""Has a thread that waits woken on the processor of the one that wakes it.

The host's thread and a pack's take turns with a call: each waits as soon as it has woken the other.
The system wakes a thread on an idle processor where there is one, which must be roused first, and
whose caches have nothing of the interpreter's memory: with that a call over stdio takes 210 µs,
without it 130.

Where many calls run, others wake it as well, such as a database that answers: then it waits where
it was drawn last, which is where the host's thread was. A call of one of 50 clients takes 7 % less
processor time with that.

A thread is bound to one processor while it waits, and let go before it runs anything: what it
starts, threads and programs, would be bound as well, and what it computes is to run where there is
room.

For Linux alone.
"""

from __future__ import annotations

import ctypes
import sys
import threading

from .interval import is_long

assert sys.platform == "linux"

_libc = ctypes.PyDLL(None)

SIZE = 128
"""Bytes of a set of processors, a bit for each, as the C library has it."""
EVERY = b"\xff" * SIZE
"""The set of all: of it the system takes those that the process may have, now and later."""


class WakeAffinity:
    """On which processor one thread wakes; `begin`, `wait` and `go_on` are called by that thread.

    Where somebody else decides meanwhile on which processors it runs, they are left as they are
    from then on.

    Invariants: `_thread` is its number in the system, 0 before `begin`, and where nothing is to be
    done. Another that binds it holds `_changing`, as does the thread when it stops to wait: so it
    waits while it is `_bound_to` one processor. `_drawn_to` is the latest that it was drawn to.
    `_usual` are its processors else, and `_free` is the set that gives it those.
    """

    def __init__(self) -> None:
        self._thread = 0
        self._is_waiting = False
        self._bound_to: bytes | None = None
        self._drawn_to: bytes | None = None
        self._changing = threading.Lock()
        self._usual = self._free = b""
        self._found = ctypes.create_string_buffer(SIZE)

    def begin(self) -> None:
        """Find out which processors the thread may have."""
        usual = self._processors(0)
        if int.from_bytes(usual, "little").bit_count() < 2 or not _bind(0, EVERY):
            return
        self._usual = self._free = usual
        if self._processors(0) == usual:
            self._free = EVERY
        else:
            _bind(0, usual)
        self._thread = threading.get_native_id()

    def wait(self) -> None:
        """Note that the thread waits from now on."""
        if self._thread == 0:
            return
        self._is_waiting = True
        if self._drawn_to is not None and is_long():
            with self._changing:
                self._bind_to(self._drawn_to)

    def draw_here(self) -> None:
        """Have the thread woken on this processor, where it waits; in another thread."""
        if not self._is_waiting or not self._changing.acquire(blocking=False):
            return
        try:
            number = _libc.sched_getcpu()
            if not self._is_waiting or number < 0:
                return  # it has gone on meanwhile
            self._drawn_to = (1 << number).to_bytes(SIZE, "little")
            self._bind_to(self._drawn_to)
        finally:
            self._changing.release()

    def go_on(self) -> None:
        """Note that the thread waits no more, and let it run wherever there is room."""
        with self._changing:
            self._is_waiting = False
            bound_to, self._bound_to = self._bound_to, None
            if bound_to is not None and self._processors(0) == bound_to:
                _bind(0, self._free)

    def _bind_to(self, processor: bytes) -> None:
        if processor == self._bound_to:
            return
        if self._processors(self._thread) != (self._bound_to or self._usual):
            self._thread, self._is_waiting = 0, False
        elif _bind(self._thread, processor):
            self._bound_to = processor

    def _processors(self, thread: int) -> bytes:
        """The processors that a thread may have; 0 is this one. None of one that has ended."""
        if _libc.sched_getaffinity(thread, SIZE, self._found) < 0:
            return b""
        return self._found.raw


def _bind(thread: int, processors: bytes) -> bool:
    return bool(_libc.sched_setaffinity(thread, SIZE, processors) == 0)
