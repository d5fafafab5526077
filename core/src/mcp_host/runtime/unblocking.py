"""System calls that never wait, made without letting go of the interpreter.

Python lets go of its lock around every system call. Where another thread waits for the lock, as a
pack's loop does for the host's, each such call wakes it, and the interpreter often goes to another
processor and back, which costs many times what the call does. What cannot wait need not let go.

That is so where many calls run. Where there is one, the thread that is woken should go on at once,
and the interpreter is let go of as ever: a call over stdio takes a third less time. Which of the
two it is says the interval at which threads take the interpreter from each other: `interval`.

For Linux alone.
"""

from __future__ import annotations

import ctypes
import os
import select
import selectors
import socket
import struct
import sys
from typing import Any

from .affinity import WakeAffinity
from .interval import is_long

PIECE = 64 * 1024
"""Bytes that are read at once, and the most that are written without letting go."""
EVENTS = 64
"""Ready descriptors that are taken at once."""

assert sys.platform == "linux"

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_libc.send.restype = ctypes.c_ssize_t
_libc.recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.recv.restype = ctypes.c_ssize_t
_libc.eventfd_write.argtypes = (ctypes.c_int, ctypes.c_uint64)
_libc.eventfd_read.argtypes = (ctypes.c_int, ctypes.c_void_p)
_libc.epoll_wait.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_SENDING = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_RECEIVING = int(socket.MSG_DONTWAIT)


def send(descriptor: int, data: bytes) -> int:
    """Send what a socket takes now; raises `OSError`, as `socket.send` of one without waits."""
    sent: int = _libc.send(descriptor, data, len(data), _SENDING)
    if sent < 0:
        raise _error()
    return sent


def wake(event: int) -> None:
    """Wake whoever waits for an event descriptor without waits, as `os.eventfd_write` does."""
    if not is_long():
        os.eventfd_write(event, 1)
    elif _libc.eventfd_write(event, 1) < 0:
        raise _error()


def woken(event: int) -> None:
    """Take what woke somebody, as `os.eventfd_read` does; raises `OSError` where nothing did."""
    if not is_long():
        os.eventfd_read(event)
    elif _libc.eventfd_read(event, _COUNT) < 0:
        raise _error()


_COUNT = ctypes.create_string_buffer(8)


class Buffer:
    """Where one thread reads to."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(PIECE)
        self._view = memoryview(self._memory).cast("B")

    def recv(self, descriptor: int) -> bytes:
        """Read what a socket has, up to `PIECE`; raises `OSError`, as `socket.recv` does."""
        count = _libc.recv(descriptor, self._memory, PIECE, _RECEIVING)
        if count < 0:
            raise _error()
        return self._view[:count].tobytes()


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


class UnblockingSocket:
    """A socket of a transport of asyncio's, but that `send` and `recv` let go of nothing."""

    def __init__(self, connected: socket.socket, buffer: Buffer) -> None:
        self._connected = connected
        self._buffer = buffer
        self.fileno = connected.fileno

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connected, name)

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """As `socket.send`; much is sent while others may run."""
        if len(data) > PIECE or not is_long():
            return self._connected.send(data)
        return send(self.fileno(), bytes(data))

    def recv(self, size: int) -> bytes:
        """As `socket.recv`; the selector tells again of what is left."""
        if not is_long():
            return self._connected.recv(size)
        return self._buffer.recv(self.fileno())


class _Event(ctypes.Structure):
    if os.uname().machine == "x86_64":
        _pack_ = 1
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_Event)
_events = struct.Struct(f"=I{_Event.data.offset - 4}xi{_SIZE - _Event.data.offset - 4}x")


class UnblockingSelector(selectors.EpollSelector):
    """A selector that lets go of the interpreter only where it may wait.

    `affinity` is that of the thread which waits here.
    """

    def __init__(self, affinity: WakeAffinity | None = None) -> None:
        super().__init__()
        self._affinity = affinity
        self._memory = ctypes.create_string_buffer(EVENTS * _SIZE)
        self._view = memoryview(self._memory).cast("B")

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            return self._wait(timeout)
        if not is_long():
            return super().select(timeout)
        count = max(0, _libc.epoll_wait(self.fileno(), self._memory, EVENTS, 0))
        ready = []
        keys: dict[int, selectors.SelectorKey] = self._fd_to_key  # type: ignore[attr-defined]  # the library's own
        for happened, descriptor in _events.iter_unpack(self._view[: count * _SIZE]):
            key = keys.get(descriptor)
            if key is not None and (events := _told(happened) & key.events):
                ready.append((key, events))
        return ready

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._affinity is None:
            return super().select(timeout)
        self._affinity.wait()
        try:
            return super().select(timeout)
        finally:
            self._affinity.go_on()


def _told(happened: int) -> int:
    """What `selectors` calls it; an error is for whoever reads and whoever writes."""
    reading = selectors.EVENT_READ if happened & ~select.EPOLLOUT else 0
    return reading | (selectors.EVENT_WRITE if happened & ~select.EPOLLIN else 0)
