"""Has a thread that waits woken on the processor of the one that wakes it.

The host's thread and a pack's take turns with a call: each waits as soon as it has woken the other.
The system wakes a thread on an idle processor where there is one, which must be roused first, and
whose caches have nothing of the interpreter's memory: with that a call over stdio takes 210 µs,
without it 130.

A thread is bound to one processor while it waits, and let go before it runs anything: what it
starts, threads and programs, would be bound as well, and what it computes is to run where there is
room. Among many calls it is held on one processor all the time: `one_processor`.

For Linux alone.
"""

from __future__ import annotations

import ctypes
import sys
import threading

assert sys.platform == "linux"

_libc = ctypes.PyDLL(None)

SIZE = 128
"""Bytes of a set of processors, a bit for each, as the C library has it."""
EVERY = b"\xff" * SIZE
"""The set of all: of it the system takes those that the process may have, now and later."""

_Set = ctypes.c_char * SIZE


class WakeAffinity:
    """On which processor one thread wakes; `begin`, `wait` and `go_on` are called by that thread.

    Where somebody else decides meanwhile on which processors it runs, they are left as they are
    from then on.

    `thread` is its number in the system, 0 before `begin`, and where nothing is to be done. `free`
    is the set that gives it the processors that it had at first.

    Invariants: another that binds the thread holds `_changing`, as does the thread when it stops to
    wait: so while it waits it is `_bound_to` one processor. While `_is_held` it is bound to that
    also when it runs, unless it has let itself go. `_usual` are its processors else.
    """

    def __init__(self) -> None:
        self.thread = 0
        self.free = b""
        self._is_waiting = False
        self._is_held = False
        self._bound_to: bytes | None = None
        self._changing = threading.Lock()
        self._usual = b""

    def begin(self) -> None:
        """Find out which processors the thread may have."""
        usual = processors_of(0)
        if int.from_bytes(usual, "little").bit_count() < 2 or not bind(0, EVERY):
            return
        self._usual = self.free = usual
        if processors_of(0) == usual:
            self.free = EVERY
        else:
            bind(0, usual)
        self.thread = threading.get_native_id()

    def wait(self) -> None:
        """Note that the thread waits from now on."""
        self._is_waiting = self.thread != 0

    def draw_here(self) -> None:
        """Have the thread woken on this processor, where it waits; in another thread."""
        if self._is_held or not self._is_waiting or not self._changing.acquire(blocking=False):
            return
        try:
            number = _libc.sched_getcpu()
            if self._is_waiting and number >= 0:  # else it has gone on meanwhile
                self._bind_to(only(number))
        finally:
            self._changing.release()

    def go_on(self) -> None:
        """Note that the thread waits no more, and let it run wherever there is room."""
        self._is_waiting = False
        if not self._is_held:
            with self._changing:
                self._unbind()

    def hold(self, processor: bytes) -> None:
        """Have the thread wait and run on one processor from now on; in another thread."""
        with self._changing:
            self._is_held = self.thread != 0 and self._bind_to(processor)

    def let_go(self) -> None:
        """Have it run again wherever there is room; in another thread."""
        with self._changing:
            self._is_held = False
            if not self._is_waiting:  # else it is let go when it goes on
                self._unbind()

    def _bind_to(self, processor: bytes) -> bool:
        now = processors_of(self.thread)
        if now not in (self._bound_to, self._usual):
            self.thread, self._is_waiting = 0, False
            return False
        if now != processor and not bind(self.thread, processor):
            return False
        self._bound_to = processor
        return True

    def _unbind(self) -> None:
        bound_to, self._bound_to = self._bound_to, None
        if bound_to is not None and processors_of(self.thread) == bound_to:
            bind(self.thread, self.free)


def only(number: int) -> bytes:
    """The set of one processor."""
    return (1 << number).to_bytes(SIZE, "little")


def processors_of(thread: int) -> bytes:
    """The set of processors that a thread may have; 0 is this one. Empty for one that has ended."""
    found = _Set()
    if _libc.sched_getaffinity(thread, SIZE, found) < 0:
        return b""
    return found.raw


def bind(thread: int, processors: bytes) -> bool:
    """Give a thread these processors; 0 is this one."""
    return bool(_libc.sched_setaffinity(thread, SIZE, processors) == 0)
