"""What a front and a host say to each other over their socket.

The host begins, with its heartbeat: the kernel vouches for who says so. The front looks at that
process, and only then sends what is to be served, with the client's descriptors. From then on the
front sends the numbers of signals, and the host, at last, an exit code.
"""

from __future__ import annotations

import _socket
import os
import sys

from ..frames import TooLong
from ..handover import Handover
from ..json_text import dumps, loads
from ..records import Record
from .unfinished import splitter
from .world import UCRED, credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Socket = _socket.socket

HELLO, ACCEPTED, REFUSED, ENDED, MOVED = b"+", b"=", b"-", b"x", b"m"
"""How each word of the host begins; after `MOVED`, another host is to take or keep the session."""
LONGEST = 64 * 1024 * 1024
"""The longest request: a client's first lines are in it, where they had to wait."""
SO_PASSCRED, SCM_CREDENTIALS = 16, 2
CLOSED_IN_PROGRAMS = 0x40000000
"""The kernel's `MSG_CMSG_CLOEXEC`: no program that is started gets what was received."""
INT = 4
"""Bytes of a descriptor in a message."""
DESCRIPTORS = 6
"""A request comes with the three standard streams, the journal's memory, and its pipe."""


class Request(Record):
    """What is to be served to one client.

    `server` names a stand-alone server, as `module:name`; empty for `mcp-host serve`. `options` are
    those of its command line. `source` is the settings file, whose trusted content has the
    `digest`. `folder` is the session's working directory, `environment` its variables. `identity`
    is that of its saved catalogue: program, source, root and profile. `apart` are the packs that
    this session shares with no other. `connection` names the client's link, whichever host serves
    it. `code` is a digest of the code that the host must load.
    `stale` says that the client has seen lists that may be others now. `lines` and what follows is
    what came before, as in `Handover`; of a line that was too long, its length and id are left, and
    `long` is the state of one that has not ended.
    """

    server: str
    options: Mapping[str, Any]
    source: str | None
    digest: str | None
    folder: str
    environment: Mapping[str, str]
    identity: tuple[str, str | None, str, str]
    apart: tuple[str, ...] = ()
    connection: str = ""
    code: str = ""
    stale: bool = False
    lines: tuple[str | tuple[int, str | int | None], ...] = ()
    answered: tuple[str | int, ...] = ()
    rest: str = ""
    long: Mapping[str, Any] | None = None
    ended: bool = False
    listed: bool = False

    @property
    def skipped(self) -> int:
        """How many requests among the lines were too long."""
        return sum(not isinstance(line, str) and line[1] is not None for line in self.lines)

    def before(self, limit: int) -> Handover:
        """What came before, for the host."""
        made = splitter(self.rest.encode("latin-1"), limit)
        if self.long is not None:
            from ..long_lines import LongLine

            made.skip(LongLine.of(self.long))
        return Handover(
            lines=[
                line.encode("latin-1") if isinstance(line, str) else TooLong(*line)
                for line in self.lines
            ],
            answered=[(type(each), each) for each in self.answered],
            ended=self.ended,
            splitter=made,
            listed=self.listed,
        )


def handed_over(before: Handover) -> dict[str, Any]:
    """The fields of a request that tell what came before."""
    lines = [
        line.decode("latin-1") if isinstance(line, bytes) else (line.length, line.request_id)
        for line in before.lines
    ]
    rest = before.splitter.unfinished if before.splitter is not None else b""
    long = before.splitter.long if before.splitter is not None else None
    return {
        "lines": tuple(lines),
        "answered": tuple(each for _, each in before.answered),
        "rest": rest.decode("latin-1"),
        "long": long.state if long is not None else None,
        "ended": before.ended,
        "listed": before.listed,
    }


def send_request(peer: Socket, request: Request, descriptors: Sequence[int]) -> None:
    """Send a request with its descriptors."""
    body = dumps(vars(request)).encode("utf-8", "surrogatepass")
    data = memoryview(len(body).to_bytes(8, "big") + body)
    sent = peer.sendmsg([data[:8]], _with(descriptors))
    peer.sendall(data[sent:])


def accept(peer: Socket, grace: int, record: int | None) -> None:
    """Tell a front that its session is taken, and how many milliseconds of grace its calls get.

    With that goes the flight record, to be read when the host is lost; `record` is closed here.
    """
    given = [] if record is None else [record]
    try:
        peer.sendmsg([ACCEPTED + grace.to_bytes(4, "big")], _with(given))
    finally:
        close_all(given)


def ask(peer: Socket, question: str) -> None:
    """Send a command's question, in place of a request."""
    body = dumps(question).encode()
    peer.sendall(len(body).to_bytes(8, "big") + body)


def receive_request(peer: Socket) -> tuple[Request, list[int]] | str:
    """Receive a request, or a question that comes without descriptors.

    `ValueError` where it is neither, and `OSError` where nothing more comes.
    """
    space = _socket.CMSG_SPACE(INT * DESCRIPTORS)
    head, ancillary, _, _ = peer.recvmsg(8, space, CLOSED_IN_PROGRAMS)
    descriptors = rights(ancillary)
    try:
        while 0 < len(head) < 8:
            head += _some(peer, 8 - len(head))
        length = int.from_bytes(head, "big")
        if len(descriptors) not in (0, DESCRIPTORS) or length > LONGEST:
            raise ValueError("this is no request")
        body = bytearray()
        while len(body) < length:
            body += _some(peer, min(length - len(body), 1 << 20))
        data = loads(body.decode("utf-8", "surrogatepass"))
        if isinstance(data, str) and not descriptors:
            return data
        if not isinstance(data, dict) or not descriptors:
            raise ValueError("this is no request")
        fields: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in data.items()
        }
        return Request(**fields), descriptors
    except BaseException:
        close_all(descriptors)
        raise


def _some(peer: Socket, most: int) -> bytes:
    data = peer.recv(most)
    if not data:
        raise ConnectionError("the other side has gone")
    return data


def _with(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    """What has a message bring descriptors along."""
    data = b"".join(each.to_bytes(INT, sys.byteorder) for each in descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)] if data else []


def rights(ancillary: Sequence[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors that came with a message."""
    return [
        int.from_bytes(data[at : at + INT], sys.byteorder)
        for level, kind, data in ancillary
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
        for at in range(0, len(data) - INT + 1, INT)
    ]


def sender(ancillary: Sequence[tuple[int, int, bytes]]) -> tuple[int, int] | None:
    """The process and the user that a message came from, where the kernel tells."""
    for level, kind, data in ancillary:
        if (level, kind) == (_socket.SOL_SOCKET, SCM_CREDENTIALS) and len(data) == UCRED:
            return credentials(data)
    return None


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors that nobody needs."""
    for descriptor in descriptors:
        os.close(descriptor)
