"""What the host asks for the program that stands for a mounted server."""

from __future__ import annotations

import sys

from mcp_host import WorkerPlace, WorkerProgram

from .settings import check


def program(place: WorkerPlace) -> WorkerProgram:
    """Return the worker of the server that a pack's table names; `SettingsError` where it is wrong.

    The interpreter looks for nothing in the folder that it starts in.
    """
    check(place.pack, place.key, {place.key: place.value, **place.beside})
    return WorkerProgram([sys.executable, "-P", "-m", "mcp_host_mount.worker"])
