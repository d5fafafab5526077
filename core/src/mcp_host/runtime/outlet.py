"""The way from a pack's own process to the host: its messages, and what it logs."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..packs.children.frames import frame
from . import bounds
from .mailbox import PAUSE

LOG_PORTION = 50
"""The most lines of the log in one message."""
LOG_RING = 1000
"""The most lines of the log that wait; of more, the oldest are dropped and counted."""


class Outlet:
    """The way to the host: straight through the socket at first, then through the event loop.

    Nobody writes while another does: before `connected` there is one thread, and lines of the log
    wait for it. Afterwards the loop writes, and other threads straight through the socket where
    nothing waits to be written; what does not fit there is `_rest`, which the loop writes first.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._lock = threading.Lock()
        self._lines: deque[dict[str, Any]] = deque()
        self._dropped = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._is_free = True
        self._sending = threading.Lock()
        self._rest = bytearray()

    def is_free(self) -> bool:
        """Whether the host takes what is sent, so that there is no need to wait."""
        return self._is_free

    def set_free(self, is_free: bool) -> None:
        """Note whether the host takes what is sent."""
        self._is_free = is_free
        if is_free:
            self.write_lines()

    def connected(self, transport: asyncio.WriteTransport) -> None:
        """Write through this from now on, in the loop's thread."""
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self.write_lines()

    def send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message; in the main thread."""
        data = frame(head, body)
        if self._transport is not None:
            with self._sending:
                self._write_rest()
                self._transport.write(data)
            return
        try:
            self.socket.sendall(data)
        except OSError:
            os._exit(0)  # the host is gone

    def send_here(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message from any thread, after `connected`."""
        data = frame(head, body)
        assert self._transport is not None and self._loop is not None
        with self._sending:
            sent = 0
            if not self._rest and not self._transport.get_write_buffer_size():
                try:
                    sent = self.socket.send(data)
                except BlockingIOError:
                    pass  # it is full
                except OSError:
                    os._exit(0)  # the host is gone, or the pack has closed what it has not opened
            if sent == len(data):
                return
            self._rest += memoryview(data)[sent:]
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._write_rest_soon)

    def _write_rest_soon(self) -> None:
        with self._sending:
            self._write_rest()

    def _write_rest(self) -> None:
        if self._rest and self._transport is not None:
            self._transport.write(bytes(self._rest))
            self._rest.clear()

    def line(self, line: dict[str, Any]) -> None:
        """Have a line of the log sent, from any thread."""
        with self._lock:
            if len(self._lines) >= LOG_RING:
                self._lines.popleft()
                self._dropped += 1
            self._lines.append(line)
            is_first = len(self._lines) == 1
        if is_first and self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.write_lines)

    def write_lines(self) -> None:
        """Send the lines that wait, and later those that come meanwhile; in the main thread."""
        for _ in range(LOG_RING // LOG_PORTION):
            if not self._is_free:
                return
            with self._lock:
                count = min(LOG_PORTION, len(self._lines))
                lines = [self._lines.popleft() for _ in range(count)]
                dropped, self._dropped = self._dropped, 0
            if not lines and not dropped:
                return
            self.send({"log": lines, "dropped": dropped})
        if self._loop is not None:
            self._loop.call_later(PAUSE, self.write_lines)


class ToHost(logging.Handler):
    """Sends what is logged here to the host, which writes it as its own."""

    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception as error:  # arguments that do not fit the message
            message = f"{bounds.text(record.msg)} ({bounds.text(error)})"
        trace = getattr(record, "traceback", "")
        if record.exc_info and record.exc_info[1] is not None:
            trace = bounds.trace(record.exc_info[1])
        self._outlet.line(
            {
                "level": record.levelno,
                "logger": bounds.text(record.name, 256),
                "message": bounds.text(message),
                "traceback": bounds.text(trace, 16 * 1024),
            }
        )
