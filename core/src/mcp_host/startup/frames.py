"""Lines cut out of a stream of bytes: what our link reads, before and after the SDK is there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


Id = tuple[type, str | int]
"""A JSON-RPC id: 1 and "1" are two."""


class TooLong:
    """Stands for a line over the limit, which was skipped to its end."""


TOO_LONG: Final = TooLong()
Line = bytes | TooLong


class Splitter:
    """Cuts chunks into lines; one of over `limit` bytes is skipped, and remembered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that end in this chunk; blank ones are left out."""
        *ends, rest = chunk.split(b"\n")
        lines: list[Line] = []
        for end in ends:
            lines += self._line(end)
        if rest:
            self._keep(rest)
        return lines

    def rest(self) -> list[Line]:
        """What came after the last newline."""
        return self._line(b"")

    @property
    def unfinished(self) -> bytes:
        """What came of a line that has not ended; of one that is too long, nothing is kept."""
        return b"".join(self._parts)

    def limit_to(self, limit: int) -> None:
        """Take another limit from now on."""
        self._limit = limit

    def _keep(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > self._limit:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _line(self, end: bytes) -> list[Line]:
        line, length = end, len(end)
        if self._length:  # some of it came before
            self._keep(end)
            line, length = b"".join(self._parts), self._length
            self._parts, self._length = [], 0
        if length > self._limit:
            return [TOO_LONG]
        return [line] if line.strip() else []
