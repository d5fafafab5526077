"""Frames over standard input and output: a line in, a line out, JSON in each.

One thread reads, one lock orders the writes, and a ledger holds what was accepted and not yet
answered, so that the end of input or a signal loses no answer. Nothing here knows the SDK.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from typing import Final

import anyio.to_thread

from ..frames import Handover, Id, Line, Splitter

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
ATOMIC: Final = 4096 if sys.platform != "darwin" else 512
"""How many bytes a pipe that can be written takes at once (PIPE_BUF)."""


class Link:
    """The two descriptors of one client.

    `limit` is the longest line in bytes; `before` is what was begun already. `lines` gives what
    came in, in order; None is the end of input, or of our interest in it.
    """

    def __init__(self, source: int, sink: int, limit: int, before: Handover | None = None) -> None:
        self._source, self._sink = source, sink
        self._before = before or Handover()
        self._splitter = self._before.splitter or Splitter(limit)
        self._splitter.limit_to(limit)
        self._loop = asyncio.get_running_loop()
        self.lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self.ended = asyncio.Event()
        self._writing = asyncio.Lock()
        self._writer = anyio.CapacityLimiter(1)
        self._writable = select.poll()
        self._writable.register(sink, select.POLLOUT)
        self._open: set[Id] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Begin to read, after what was read and answered before."""
        if self._before.unsent:
            # The lock is taken here, so that nothing overtakes; a client that does not read must
            # not keep us from reading.
            await self._writing.acquire()
            self._sending = asyncio.create_task(self._send(self._before.unsent))
        self._take(self._before.lines)
        if self._before.ended or self._before.stopping:
            self.stop()
        else:
            threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def was_answered(self, request_id: str | int) -> bool:
        """Whether this answer was given before the SDK was there; asked once for each."""
        key = (type(request_id), request_id)
        if key not in self._before.answered:
            return False
        self._before.answered.remove(key)
        return True

    def stop(self) -> None:
        """Take no more: what comes in from now on is not looked at."""
        if not self.ended.is_set():
            self.ended.set()
            self.lines.put_nowait(None)

    # -- in

    def _read(self) -> None:
        # os.read in a daemon thread: no lock of a buffered reader that could hold up the exit.
        try:
            while chunk := os.read(self._source, 65536):
                lines = self._splitter.feed(chunk)
                if lines:
                    self._loop.call_soon_threadsafe(self._take, lines)
            self._loop.call_soon_threadsafe(self._take, self._splitter.rest())
            self._loop.call_soon_threadsafe(self.stop)
        except OSError:
            self._loop.call_soon_threadsafe(self.stop)
        except RuntimeError:
            return  # the loop has ended

    def _take(self, lines: list[Line]) -> None:
        if not self.ended.is_set():
            for line in lines:
                self.lines.put_nowait(line)

    # -- out

    async def write(self, frame: bytes) -> None:
        """Write one frame whole; nothing can come between its bytes."""
        async with self._writing:
            await self._write(frame + b"\n")

    async def _send(self, data: bytes) -> None:
        try:
            await self._write(data)
        finally:
            self._writing.release()

    async def _write(self, data: bytes) -> None:
        if len(data) <= ATOMIC and self._writable.poll(0):
            os.write(self._sink, data)
            return

        def write_all() -> None:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._sink, rest) :]

        # In a thread, since a client that does not read must not stop the loop; not to be
        # abandoned, since half a frame would spoil every later one.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(write_all, limiter=self._writer)

    # -- the ledger

    def accepted(self, request_id: str | int) -> bool:
        """Note a request; False where one of this id is being answered still."""
        key = (type(request_id), request_id)
        if key in self._open:
            return False
        self._open.add(key)
        self._idle.clear()
        return True

    def answered(self, request_id: str | int | None) -> None:
        """The request has its answer, or was taken back and gets none."""
        if request_id is not None:
            self._open.discard((type(request_id), request_id))
        if not self._open:
            self._idle.set()

    async def drained(self) -> None:
        """Wait until every accepted request is answered."""
        await self._idle.wait()
