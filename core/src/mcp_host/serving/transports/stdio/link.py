"""Frames over standard input and output: a line in, a line out, JSON in each.

One thread reads, another writes what the client does not take at once, and a ledger holds what was
accepted and not yet answered, so that the end of input or a signal loses no answer. Nothing here
knows the SDK.
"""

from __future__ import annotations

import asyncio
import select
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from ....startup.frames import Id, Line
from ....startup.handover import Handover
from .incoming import Incoming
from .streams import Streams

FRAMES, BYTES = 10_000, 32 * 1024 * 1024
"""How much may wait for a client to take it, until that client is read no further."""


class StdioLink:
    """The two descriptors of one client.

    `limit` is the longest line in bytes; `before` is what was begun already. `lines` gives what
    came in, in order; None is the end of input, or of our interest in it.

    Invariants:

    - All but the two threads' `os.read` and `os.write` and `answer_at_once` runs on the loop, and
      all counts but `_unheard` change there; a thread tells `_gone` and `_moved` alone.
    - Whoever holds `_sending` may write while `_unsent` is 0, which nobody else changes from that,
      and tells the streams of it; so they hear of everything in its order.
    - `_unsent` frames of `_unsent_bytes` are in `_out` or being written. While there is one, every
      further frame goes through `_out` as well, so frames keep their order; else a frame that a
      pipe takes whole is written at once.
    - While `_has_room`, the client's pipe takes one more such frame: nobody else writes to it, and
      each frame that is sent takes the word back. It changes in the hands of `_sending` alone.
    - `_open` are the requests that were accepted and not yet answered, `_unheard` the answers of
      other threads that the loop has not heard of. `_idle` is set while there is none of them, nor
      anything unsent.
    - Once `_gone`, nothing is written any more, and every frame counts as sent.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        limit: int,
        before: Handover | None = None,
        streams: Streams | None = None,
    ) -> None:
        self._sink = sink
        self._streams = streams or Streams(source, sink)
        self._before = before or Handover()
        self._loop = asyncio.get_running_loop()
        self._in = Incoming(source, self._streams, limit, self._before.splitter)
        self.lines, self.ended = self._in.lines, self._in.ended
        self._out: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._sending = threading.Lock()
        self._unsent = 0
        self._unsent_bytes = 0
        self._moved = 0.0
        self._gone = False
        self._writable = select.poll()
        self._writable.register(sink, select.POLLOUT)
        self._has_room = False
        self._open: set[Id] = set()
        self._unheard = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Begin to read, after what was read and answered before."""
        threading.Thread(target=self._write_all, name="stdout", daemon=True).start()
        if self._before.unsent:
            self._streams.tell(self._before.unsent)
            self._enqueue(self._before.unsent)
        has_ended = self._before.ended or self._before.stopping
        self._in.begin(self._before.lines, has_ended=has_ended)

    def was_answered(self, request_id: str | int) -> bool:
        """Whether this answer was given before the SDK was there; asked once for each."""
        key = (type(request_id), request_id)
        if key not in self._before.answered:
            return False
        self._before.answered.remove(key)
        return True

    def note_answered(self, request_id: str | int) -> None:
        """Note an answer that was given without the SDK, which will give it as well."""
        self._before.answered.add((type(request_id), request_id))

    def close(self) -> None:
        """End it for good: nothing is read any more, and the writing thread ends."""
        self._in.close()
        self._gone = True
        self._out.put(None)

    def stop(self) -> None:
        """As `Incoming.stop`."""
        self._in.stop()

    async def next_line(self, lane: Callable[[bytes], bool] | None) -> Line | None:
        """As `Incoming.next_line`."""
        return await self._in.next_line(lane)

    async def write(self, frame: bytes) -> None:
        """Write one frame whole, after all that came before; wait until the client has it."""
        done = self.post(frame)
        if done is not None:
            await done

    def post(self, frame: bytes) -> asyncio.Future[None] | None:
        """As `write`, without waiting; None where the client has it already, or has gone."""
        data = frame + b"\n"
        if self._gone:
            return None
        with self._sending:
            try:
                self._streams.tell(data)
                if not self._is_taken_whole(data):
                    return self._enqueue(data)
                self._send_at_once(data)
            except OSError:
                self._lost()
        return None

    def answer_at_once(self, request_id: str | int, frame: bytes, may: Callable[[], bool]) -> bool:
        """Write the answer to a request in this thread, whichever that is; raises nothing.

        False where the client would not take it whole at once, or `may`, which is asked last, says
        no: then nothing was done. Else `heard` is to be called on the loop.
        """
        data = frame + b"\n"
        with self._sending:
            if self._gone or not self._is_taken_whole(data) or not may():
                return False
            self._unheard += 1  # first, since the loop looks at both without a lock
            self._open.discard((type(request_id), request_id))
            try:
                self._streams.tell(data)
                self._send_at_once(data)
            except OSError:
                self._gone = True
        return True

    def heard(self) -> None:
        """Note on the loop that an answer was written in another thread."""
        with self._sending:
            self._unheard -= 1
            self._look_for_room()  # now, and not between the next answer and its writing
        if self._gone:
            self._lost()
        self._look_whether_idle()

    def _is_taken_whole(self, data: bytes) -> bool:
        """Whether a frame can be written now, without waiting; the caller holds `_sending`."""
        if self._unsent or len(data) > select.PIPE_BUF:
            return False
        self._look_for_room()
        return self._has_room

    def _look_for_room(self) -> None:
        if not self._has_room:
            self._has_room = bool(self._writable.poll(0))

    def _send_at_once(self, data: bytes) -> None:
        self._has_room = False
        self._streams.send(data)

    def is_stuck(self, seconds: float) -> bool:
        """Whether the client took nothing for so long, although there is something for it."""
        return self._unsent > 0 and time.monotonic() - self._moved >= seconds

    def _enqueue(self, data: bytes) -> asyncio.Future[None]:
        if not self._unsent:
            self._moved = time.monotonic()
        self._has_room = False
        self._unsent += 1
        self._unsent_bytes += len(data)
        self._idle.clear()
        done: asyncio.Future[None] = self._loop.create_future()
        self._out.put((data, done))
        self._look_how_full()
        return done

    def _look_how_full(self) -> None:
        """Read on only while the client takes what it is sent: a flood waits in its own pipe."""
        if self._unsent > FRAMES or self._unsent_bytes > BYTES:
            self._in.pause()
        elif self._unsent <= FRAMES // 2 and self._unsent_bytes <= BYTES // 2:
            self._in.resume()

    def _write_all(self) -> None:
        # In a thread, since a client that does not read must not stop the loop; whoever waits may
        # be cancelled, the frame is written to its end all the same.
        while (item := self._out.get()) is not None:
            data, done = item
            try:
                if not self._gone:
                    self._streams.send(data, self._has_moved)
            except OSError:
                self._gone = True
            try:
                self._loop.call_soon_threadsafe(self._written, done, len(data))
            except RuntimeError:
                return  # the loop has ended

    def _has_moved(self) -> None:
        self._moved = time.monotonic()

    def _written(self, done: asyncio.Future[None], length: int) -> None:
        self._unsent -= 1
        self._unsent_bytes -= length
        self._look_how_full()
        if not done.done():
            done.set_result(None)
        if self._gone:
            self._lost()
        self._look_whether_idle()

    def _lost(self) -> None:
        """The client has closed its end: nobody reads, and nothing more is to be expected."""
        self._gone = True
        self.stop()

    def accepted(self, request_id: str | int) -> bool:
        """Note a request; False where one of this id is being answered still."""
        key = (type(request_id), request_id)
        if key in self._open:
            return False
        self._open.add(key)
        self._idle.clear()
        return True

    def is_open(self, request_id: str | int) -> bool:
        """Whether a request of this id is being answered."""
        return (type(request_id), request_id) in self._open

    def answered(self, request_id: str | int | None) -> None:
        """Note that a request has its answer, or was cancelled and gets none."""
        if request_id is not None:
            self._open.discard((type(request_id), request_id))
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if not self._open and not self._unsent and not self._unheard:
            self._idle.set()
            if self._in.is_settled:
                self._streams.settled()

    async def drained(self) -> None:
        """Wait until every accepted request is answered and all that was written is sent."""
        await self._idle.wait()
