"""A client's streams whose bytes the front can account for, should this process be killed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence

from ...startup.frames import Line
from ...startup.warm.journal import ROOM, JournalWriter
from ...startup.warm.unfinished import SKIPPED, is_kept, unfinished
from ..transports.stdio.streams import Streams

HEAD = 128
"""Bytes in which a frame of ours tells its id, and whether it is an answer."""


class JournaledStreams(Streams):
    """As `Streams`, with everything noted in a journal.

    `skipped` are the requests that came before and were too long for the journal. `_open` is how
    many requests came that have no answer, as far as a quick look tells. Nothing is
    forgotten while it is not 0; when the journal is long, it is looked at closely. `_noting` is
    held while the journal turns or something is noted in it, also in another thread. `_sending` is
    held while something is on its way to the client: no descriptor may be closed then, since
    another session's would get its number.
    """

    def __init__(self, source: int, sink: int, journal: JournalWriter, skipped: int = 0) -> None:
        super().__init__(source, sink)
        self._journal = journal
        self._noting = threading.Lock()
        self._sending = threading.Lock()
        self._is_over = False
        self.longest = ROOM
        """Bytes after which the beginning of a line is forgotten: it will be refused."""
        self._open = skipped + (len(unfinished(journal).waiting) if journal.is_used else 0)

    def read(self) -> bytes:
        with self._noting:
            if self._journal.is_long:
                found = unfinished(self._journal)
                lines = b"".join(line + b"\n" for line in found.waiting)
                is_refused = len(found.rest) > self.longest
                self._journal.turn(lines + (SKIPPED if is_refused else found.rest))
                self._open = len(found.waiting)
            return self._journal.receive(self._source)

    def took(self, lines: Sequence[Line]) -> None:
        with self._noting:
            for line in lines:
                if isinstance(line, bytes):
                    self._open += b'"id"' in line and b'"method"' in line
                    if is_kept(line):
                        self._journal.keep(line)
                else:
                    self._open += line.request_id is not None

    def tell(self, data: bytes) -> None:
        with self._noting:
            self._check_not_over()
            self._journal.tell(data)
            self._open -= _is_answer(data[:HEAD])

    def send(self, data: bytes, moved: Callable[[], None] | None = None) -> None:
        with self._sending:
            self._check_not_over()
            self._journal.send(self._sink, len(data))
        if moved is not None:
            moved()

    def close(self, then: Callable[[], None]) -> None:
        """Send no more, and call `then`; where the client still takes something, once it has."""
        self._is_over = True
        if self._sending.acquire(blocking=False):
            with self._noting:
                then()
        else:
            threading.Thread(target=self._close_later, args=(then,), daemon=True).start()

    def _close_later(self, then: Callable[[], None]) -> None:
        with self._sending, self._noting:
            then()

    def _check_not_over(self) -> None:
        if self._is_over:
            raise BrokenPipeError(errno.EPIPE, "the session is over")

    def settled(self) -> None:
        with self._noting:
            if self._is_over:
                return
            if self._open == 0 and self._journal.is_used and self._journal.is_sent:
                self._journal.turn()


def _is_answer(head: bytes) -> bool:
    return b'"id":' in head and b'"id":null' not in head and b'"method"' not in head
