"""What passed between one client and the host that serves it, in memory that the front shares.

Should the host be killed, at whatever moment, the front finds here what the host had read and what
it had written, to the byte. That takes two means beside the memory itself. What is read goes from
the kernel straight into it; a host that dies before it has noted how much it read leaves bytes
behind that are not zero. What is written goes through a pipe that both hold, from where the kernel
moves it to the client: what such a host had not sent yet is in that pipe still.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CHUNK = 64 * 1024
"""The most that is read at once, and moved at once where the pipe holds as much."""
ROOM = 128 * 1024 * 1024
"""Bytes for what came in, what goes out, and what is kept; memory is taken as it is used."""
PAGE = 4096
LONG = 1024 * 1024
"""Bytes of one half after which it is time to turn over."""
SMALL = 64 * 1024
"""Bytes that are cleaned by writing over them; more is given back to the system."""
FIONREAD: Final = 0x541B
F_GETPIPE_SZ: Final = 1032

# The words of the head, of 8 bytes each.
_ACTIVE, _KEPT = 0, 1
_READ, _TOLD, _PIPED, _SENT = 8, 9, 10, 11
_HALF = 8
"""The words of the second half stand so many behind those of the first."""
_KEPT_AT = PAGE
_IN_AT = _KEPT_AT + ROOM
_SIZE = _IN_AT + 4 * ROOM


class Full(OSError):
    """There is no room for more, until something is answered."""


class Journal:
    """One client's journal, by the descriptors of its memory and of both ends of its pipe, to read.

    Two halves are used in turn, of which one is active. In each, what came in and what was to go
    out are appended; of the latter `told` bytes are to reach the client in any case, `_PIPED` were
    moved into the pipe and `_SENT` out of it, to the client. What is kept is common to both: lines
    that a conversation has begun with. One process writes at a time: the host, by a
    `JournalWriter`; when it is no more, the front reads.
    """

    def __init__(self, memory: int, pipe: tuple[int, int]) -> None:
        self.memory = memory
        self.pipe = pipe
        self._map = mmap.mmap(memory, _SIZE)
        self._view = memoryview(self._map)
        self._words = self._view[:PAGE].cast("Q")

    def close(self) -> None:
        """Let go of it."""
        self._words.release()
        self._view.release()
        self._map.close()
        for descriptor in (self.memory, *self.pipe):
            os.close(descriptor)

    @property
    def kept(self) -> bytes:
        """The lines that were kept."""
        return bytes(self._view[_KEPT_AT : _KEPT_AT + self._words[_KEPT]])

    @property
    def came(self) -> bytes:
        """What was read from the client, also what the host did not live to note."""
        half = self._words[_ACTIVE]
        begin = _IN_AT + half * 2 * ROOM
        read = self._words[_READ + half * _HALF]
        unnoted = bytes(self._view[begin + read : min(begin + read + CHUNK, begin + ROOM)])
        return bytes(self._view[begin : begin + read]) + unnoted.rstrip(b"\0")

    @property
    def told(self) -> bytes:
        """What the client is to get."""
        half = self._words[_ACTIVE]
        begin = _IN_AT + half * 2 * ROOM + ROOM
        return bytes(self._view[begin : begin + self._words[_TOLD + half * _HALF]])

    @property
    def sent(self) -> int:
        """How many bytes of it the client has got; the host must be no more."""
        at = self._words[_ACTIVE] * _HALF
        piped, sent = self._words[at + _PIPED], self._words[at + _SENT]
        return int(piped - _bytes_in(self.pipe[0]) if piped != sent else sent)

    def empty_pipe(self) -> None:
        """Throw away what is in the pipe."""
        left = _bytes_in(self.pipe[0])
        while left:
            left -= len(os.read(self.pipe[0], left))


class JournalWriter(Journal):
    """A journal to write, and to read again.

    What its memory says is kept here as well, so that nothing is read to write: `_half` is the
    active one, whose words stand from `_at` on and whose bytes from `_in` and `_out` on; `_read`
    and `_told` are how many came in and are to go out. `_long` is how many may come in until it is
    time to turn over: always as many again as were kept. Nobody else writes.
    """

    def __init__(self, memory: int, pipe: tuple[int, int]) -> None:
        super().__init__(memory, pipe)
        self._half = self._words[_ACTIVE]
        self._long = LONG
        self._piece = min(CHUNK, fcntl.fcntl(pipe[1], F_GETPIPE_SZ))
        self._place()

    @classmethod
    def new(cls) -> JournalWriter:
        """Make an empty one."""
        memory = os.memfd_create("mcp-host-journal")
        os.ftruncate(memory, _SIZE)
        return cls(memory, os.pipe2(os.O_CLOEXEC))

    def _place(self) -> None:
        self._at = self._half * _HALF
        self._in = _IN_AT + self._half * 2 * ROOM
        self._out = self._in + ROOM
        self._read = self._words[self._at + _READ]
        self._told = self._words[self._at + _TOLD]

    def receive(self, source: int) -> bytes:
        """Read what a client has sent, as `os.read` does; `Full` where there is no room for it."""
        at = self._in + self._read
        if self._read + CHUNK > ROOM:
            raise Full
        length = os.readv(source, [self._view[at : at + CHUNK]])
        self._read += length
        self._words[self._at + _READ] = self._read
        return self._map[at : at + length]

    def tell(self, data: bytes) -> None:
        """Note what the client is to get: from now on it will, from the front if need be."""
        at = self._out + self._told
        if self._told + len(data) > ROOM:
            raise Full
        self._view[at : at + len(data)] = data
        self._told += len(data)
        self._words[self._at + _TOLD] = self._told

    def send(self, sink: int, length: int) -> None:
        """Send the client the next `length` bytes of what it was told; waits until it takes them.

        Raises `OSError` where nobody takes them any more.
        """
        at = self._at
        left = length
        while left:
            begin = self._words[at + _PIPED]
            count = min(left, self._piece)
            place = self._out + begin
            os.write(self.pipe[1], self._view[place : place + count])
            self._words[at + _PIPED] = begin + count
            self._move(sink, count)
            self._words[at + _SENT] = begin + count
            left -= count

    def _move(self, sink: int, count: int) -> None:
        while count:
            try:
                count -= os.splice(self.pipe[0], sink, count)
            except BlockingIOError:
                _wait_until_writable(sink)

    def keep(self, line: bytes) -> None:
        """Keep a line that the conversation cannot be gone on with without."""
        length = self._words[_KEPT]
        if length + len(line) + 1 > ROOM:
            raise Full
        at = _KEPT_AT + length
        self._view[at : at + len(line) + 1] = line + b"\n"
        self._words[_KEPT] = length + len(line) + 1

    @property
    def is_long(self) -> bool:
        """Whether it is time to turn over, and nothing that was told is on its way."""
        return (self._read > self._long or self._told > LONG) and self.is_sent

    @property
    def is_sent(self) -> bool:
        """Whether all that was told is with the client."""
        return bool(self._words[self._at + _SENT] == self._told)

    @property
    def is_used(self) -> bool:
        """Whether there is anything in the active half."""
        return bool(self._read)

    def turn(self, begin: bytes = b"") -> None:
        """Forget what came in and went out, but for `begin`, which is still to be answered.

        All that was told must have been sent.
        """
        old, used = self._half, max(self._read, self._told)
        self._half = 1 - old
        self._place()
        self._view[self._in : self._in + len(begin)] = begin
        self._words[self._at + _READ] = self._read = len(begin)
        self._long = min(max(LONG, 2 * len(begin)), ROOM - 2 * CHUNK)
        self._words[_ACTIVE] = self._half
        self._clean(old, used)

    def _clean(self, half: int, used: int) -> None:
        begin = _IN_AT + half * 2 * ROOM
        if used <= SMALL:
            nothing = bytes(used)
            self._view[begin : begin + used] = nothing
        else:
            self._map.madvise(mmap.MADV_REMOVE, begin, 2 * ROOM)
        for word in (_READ, _TOLD, _PIPED, _SENT):
            self._words[word + half * _HALF] = 0


def _bytes_in(pipe: int) -> int:
    count = bytearray(4)
    fcntl.ioctl(pipe, FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def _wait_until_writable(sink: int) -> None:
    waiting = select.poll()
    waiting.register(sink, select.POLLOUT)
    if any(state & (select.POLLERR | select.POLLNVAL) for _, state in waiting.poll()):
        raise BrokenPipeError(errno.EPIPE, "nobody reads")
