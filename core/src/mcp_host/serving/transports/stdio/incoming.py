"""The lines that come in over a descriptor, as they are read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from ....startup.frames import Line, Splitter, TooLong
from .streams import Streams


class Incoming:
    """Reads lines of at most `limit` bytes; `lines` gives them in order, and None at their end.

    Invariants: all but `os.read` in its thread runs on the loop. The source is read while
    `_is_read`, not while it is paused, and no more once `ended` is set; after `ended`, `lines` gets
    nothing but one None. `_lane` is there while somebody waits for the next line and none is there.
    """

    def __init__(
        self, source: int, streams: Streams, limit: int, splitter: Splitter | None
    ) -> None:
        self._source = source
        self._streams = streams
        self._limit = limit
        self._splitter = splitter or Splitter(limit)
        self._splitter.limit_to(limit)
        self._loop = asyncio.get_running_loop()
        self._lane: Callable[[bytes], bool] | None = None
        self._is_read = False
        self._is_paused = False
        self.lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self.ended = asyncio.Event()

    @property
    def is_settled(self) -> bool:
        """Whether nothing that was read waits to be looked at."""
        return self.lines.empty() and not self._splitter.has_begun

    def begin(self, lines: list[Line], *, has_ended: bool) -> None:
        """Begin to read, after lines that were read before the settings told how long one may be.

        Nothing is read where the input `has_ended`.
        """
        self._take([self._limited(line) for line in lines])
        if has_ended:
            self.stop()
        else:
            self._begin_to_read()

    def stop(self) -> None:
        """Take no more: what comes in from now on is not looked at."""
        if not self.ended.is_set():
            self.ended.set()
            self.lines.put_nowait(None)

    def close(self) -> None:
        """End it for good."""
        self.stop()
        if self._is_read:
            self._read_no_more()

    def pause(self) -> None:
        """Read no further for now: what comes waits in its pipe."""
        if self._is_read:
            self._is_paused = True
            self._read_no_more()

    def resume(self) -> None:
        """Read on, where reading was paused."""
        if self._is_paused:
            self._is_paused = False
            self._begin_to_read()

    async def next_line(self, lane: Callable[[bytes], bool] | None) -> Line | None:
        """Wait for the next of `lines`.

        Meanwhile, as long as none waits, `lane` is shown those that come in: what it takes is not
        among them.
        """
        self._lane = lane if self.lines.empty() else None
        try:
            return await self.lines.get()
        finally:
            self._lane = None

    def _begin_to_read(self) -> None:
        try:
            self._loop.add_reader(self._source, self._readable)
            self._is_read = True
        except (NotImplementedError, PermissionError):  # Windows, and a file in place of a pipe
            threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _readable(self) -> None:
        # A pipe that is readable gives what it has at once; a thread would cost a switch a line.
        try:
            chunk = self._streams.read()
        except OSError:
            chunk = b""
        if chunk:
            lines = self._splitter.feed(chunk)
            self._streams.took(lines)
            self._take(lines)
        else:
            self._read_no_more()
            self._take(self._splitter.rest())
            self.stop()

    def _read_no_more(self) -> None:
        self._is_read = False
        self._loop.remove_reader(self._source)

    def _read(self) -> None:
        # os.read in a daemon thread: no lock of a buffered reader that could hold up the exit.
        try:
            while chunk := self._streams.read():
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
        if self.ended.is_set():
            return
        for line in lines:
            if self._lane is None or isinstance(line, TooLong) or not self._lane(line):
                self._lane = None  # what comes behind this line waits for its turn
                self.lines.put_nowait(line)

    def _limited(self, line: Line) -> Line:
        if isinstance(line, bytes) and len(line) > self._limit:
            return TooLong.of(line)
        return line
