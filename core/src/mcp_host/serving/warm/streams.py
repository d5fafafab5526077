"""A client's streams whose bytes the front can account for, should this process be killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...startup.frames import Line
from ...startup.warm.journal import Journal
from ...startup.warm.unfinished import is_kept, unfinished
from ..transports.stdio.streams import Streams


class JournaledStreams(Streams):
    """As `Streams`, with everything noted in a journal."""

    def __init__(self, source: int, sink: int, journal: Journal) -> None:
        super().__init__(source, sink)
        self._journal = journal

    def read(self) -> bytes:
        if self._journal.is_long:
            waiting = unfinished(self._journal)
            lines = b"".join(line + b"\n" for line in waiting.waiting)
            self._journal.turn(lines + waiting.rest)
        return self._journal.receive(self._source)

    def took(self, lines: Sequence[Line]) -> None:
        for line in lines:
            if isinstance(line, bytes) and is_kept(line):
                self._journal.keep(line)

    def tell(self, data: bytes) -> None:
        self._journal.tell(data)

    def send(self, data: bytes, moved: Callable[[], None] | None = None) -> None:
        self._journal.send(self._sink, len(data))
        if moved is not None:
            moved()

    def settled(self) -> None:
        if self._journal.is_used:
            self._journal.turn()
