"""How bytes come from one client and go to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ....startup.frames import Line

CHUNK = 65536


class Streams:
    """The two descriptors as they are; nothing is noted of what passes.

    Every thread may `tell` and `send`, one at a time; the rest is done on the loop.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink

    def read(self) -> bytes:
        """Read what has come; empty at the end of input."""
        return os.read(self._source, CHUNK)

    def took(self, lines: Sequence[Line]) -> None:
        """Hear which lines ended in what was read."""

    def tell(self, data: bytes) -> None:
        """Hear what is to be sent, in order, before it is; `OSError` where there is no room."""

    def send(self, data: bytes, moved: Callable[[], None] | None = None) -> None:
        """Send it whole; `moved` is called each time that the client has taken some."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._sink, rest) :]
            if moved is not None:
                moved()

    def settled(self) -> None:
        """Hear that all that came is answered, and that all is sent."""
