"""Lines cut out of a stream of bytes: what our link reads, before and after the SDK is there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .long_lines import LongLine


Id = tuple[type, str | int]
"""A JSON-RPC id: 1 and "1" are two."""


class TooLong:
    """Stands for a line over the limit, which was skipped to its end.

    `length` is how many bytes it had. `request_id` is the id of the request that it was; None where
    it was none, or where that is not certain.
    """

    def __init__(self, length: int, request_id: str | int | None) -> None:
        self.length = length
        self.request_id = request_id

    @classmethod
    def of(cls, line: bytes) -> TooLong:
        """What stands for a line that is there whole."""
        long = _long_line()
        long.feed(line)
        return cls(long.length, long.request_id)


Line = bytes | TooLong


class Splitter:
    """Cuts chunks into lines; one of over `limit` bytes is skipped, and remembered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0
        self.long: LongLine | None = None
        """What passes of a line that is too long and has not ended."""

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
    def has_begun(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._length > 0

    @property
    def unfinished(self) -> bytes:
        """What came of a line that has not ended; of one that is too long, `long` is kept."""
        return b"".join(self._parts)

    def skip(self, long: LongLine) -> None:
        """Go on within a line that is too long."""
        self.long, self._length = long, long.length

    def limit_to(self, limit: int) -> None:
        """Take another limit from now on."""
        self._limit = limit

    def _keep(self, part: bytes) -> None:
        self._length += len(part)
        if self.long is None:
            self._parts.append(part)
            if self._length <= self._limit:
                return
            self.long = _long_line()
            part = b"".join(self._parts)
            self._parts.clear()
        self.long.feed(part)

    def _line(self, end: bytes) -> list[Line]:
        line = end
        if self._length:  # some of it came before
            self._keep(end)
            line, long = b"".join(self._parts), self.long
            self._parts, self._length, self.long = [], 0, None
            if long is not None:
                return [TooLong(long.length, long.request_id)]
        elif len(end) > self._limit:
            return [TooLong.of(end)]
        return [line] if line.strip() else []


def _long_line() -> LongLine:
    from .long_lines import LongLine  # and `re`, which hardly anybody needs

    return LongLine()
