"""Where a pack's process begins: says which messages it speaks, or why it cannot serve here."""

from __future__ import annotations

import importlib
import os
import platform
import socket
from typing import NoReturn

from .frames import frame

SIDE = "mcp_host.runtime.child_side"


def main(descriptor: int) -> NoReturn:
    """Serve the host at the other end of a socket; ends the process."""
    end = socket.socket(fileno=descriptor)
    try:
        side = importlib.import_module(SIDE)
    except ImportError as error:
        reason = f"Python {platform.python_version()} of this pack: {error}"
        remedy = "install pydantic and pluggy in the environment that `python` names"
        end.sendall(frame({"refused": ["environment_unfit", reason, remedy]}))
        os._exit(1)
    side.main(end)
    os._exit(0)
