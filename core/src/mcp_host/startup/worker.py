"""What a process that serves beside others at one socket was told by the one that started it."""

from __future__ import annotations

import os

from .records import Record

VARIABLE = "MCP_HOST_WORKER"
"""Of the environment; set by `mcp-host serve --workers`, and taken out by the worker."""


class WorkerShare(Record):
    """The socket to serve at, how many workers there are, and the key that all seal by.

    `life` is one end of a pipe whose other end the process that started them has alone.
    """

    descriptor: int
    life: int
    workers: int
    state_key: str


def told() -> WorkerShare | None:
    """What this process was told, taken out of its environment; None where it is no worker."""
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return None
    import json

    return WorkerShare(**json.loads(text))
