"""Whether a process on the other end of a socket may be trusted with what this one may do.

The same user is not enough: a sandbox runs as its user, and must not reach out of itself through a
host that was started outside, nor be handed the environment of sessions outside.
"""

from __future__ import annotations

import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Connected(Protocol):
        """A connected socket, of whichever class."""

        def getsockopt(self, level: int, name: int, length: int, /) -> bytes: ...


SPACES = ("mnt", "user", "pid", "net", "ipc")
LINES = (
    b"Uid:", b"Gid:", b"Groups:", b"NoNewPrivs:", b"Seccomp:", b"Seccomp_filters:",
    b"CapInh:", b"CapPrm:", b"CapEff:", b"CapBnd:", b"CapAmb:",
)  # fmt: skip
"""What `/proc/PID/status` tells of the user and of what confines a process."""
UCRED = 12
"""Bytes of the kernel's word on who a peer is: process, user, group, as three integers."""


def world(process: int | str) -> list[bytes | str] | None:
    """Everything that confines a process; None where that cannot be told."""
    proc = f"/proc/{process}"
    found: list[bytes | str] = []
    try:
        found += [os.readlink(f"{proc}/ns/{name}") for name in SPACES]
        with open(f"{proc}/status", "rb") as file:
            found += [line for line in file if line.startswith(LINES)]
        found.append(os.readlink(f"{proc}/root"))
    except OSError:
        return None
    try:
        with open(f"{proc}/attr/current", "rb") as file:
            found.append(file.read().rstrip(b"\0\n"))
    except OSError:
        found.append("no label")
    return found


def is_same_world(process: int) -> bool:
    """Whether a process is confined as this one is, no more and no less."""
    own = world("self")
    return own is not None and own == world(process)


def credentials(data: bytes) -> tuple[int, int]:
    """The process and the user of a peer, as the kernel tells them."""
    return tuple(  # type: ignore[return-value]  # two of them
        int.from_bytes(data[at : at + 4], sys.byteorder, signed=True) for at in (0, 4)
    )


def peer_of(connection: Connected) -> tuple[int, int]:
    """The process and the user at the other end of a connected socket; on Linux alone."""
    return credentials(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, UCRED))


def why_alone() -> str:
    """Why this process must serve alone whatever else there is; empty where it need not."""
    if os.getpid() == 1:
        return "it is the first process of its machine or container"
    own = world("self")
    if own is None:
        return "/proc does not tell what confines it"
    if b"NoNewPrivs:\t1\n" in own:
        return "it is confined by no_new_privs"
    return ""
