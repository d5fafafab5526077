"""What the host asks for the side of a mounted server."""

from __future__ import annotations

import sys

from mcp_host import WorkerPlace, WorkerProgram, WorkerThread

from .settings import check


def program(place: WorkerPlace) -> WorkerProgram | WorkerThread:
    """Return the worker of the server that a pack's table names; `SettingsError` where it is wrong.

    What speaks with a process lives in threads of the host; what speaks with an address is a
    program, since it needs the SDK. Its interpreter looks for nothing in the folder that it starts
    in.
    """
    check(place.pack, place.key, {place.key: place.value, **place.beside})
    if place.key == "url":
        return WorkerProgram([sys.executable, "-P", "-m", "mcp_host_mount.worker"])
    from .worker import serve  # where there is a mount to serve

    return WorkerThread(serve)
