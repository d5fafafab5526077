"""Sockets of running hosts on every system that has them: their addresses, and who is behind them.

On Linux the kernel names the process and the user of a peer, and a socket is reached through the
open folder that it is in. Elsewhere it is reached by its path, into a folder that is this user's
alone; macOS names the user.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from ...startup.warm.world import peer_of

if TYPE_CHECKING:
    from ...startup.warm.place import Place

SOL_LOCAL, LOCAL_PEERCRED, XUCRED = 0, 1, 76
"""Of `<sys/un.h>` and `<sys/ucred.h>` on macOS: whom to ask, for what, and how long it is."""


def address(place: Place, name: str) -> str:
    """The address of a socket in a folder."""
    if sys.platform == "linux":
        return place.address(name)
    return os.path.join(place.path, name)  # noqa: PTH118


def user_of(connection: socket.socket) -> int:
    """The user at the other end; this one where only the folder says so, which is its alone."""
    if sys.platform == "linux":
        return peer_of(connection)[1]
    if sys.platform == "darwin":
        told = connection.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, XUCRED)
        return int.from_bytes(told[4:8], sys.byteorder)
    return os.getuid()


def process_of(connection: socket.socket, name: str) -> int:
    """The process at the other end; not on Linux, the one that the socket is called by."""
    if sys.platform == "linux":
        return peer_of(connection)[0]
    return int(name.partition("-")[0])
