"""Where a pack's process begins: says which messages it speaks, or why it cannot serve here."""

from __future__ import annotations

import importlib
import os
import platform
import socket
from typing import NoReturn

from ...settings.borrowed import spare_plugin_search
from .frames import frame

SIDE = "mcp_host.runtime.child_side"
LEAST = {"pydantic": (2, 12), "pluggy": (1, 7)}
"""What the environment of a pack must have, and since which versions; pydantic's is looked at."""


def main(descriptor: int) -> NoReturn:
    """Serve the host at the other end of a socket; ends the process."""
    end = socket.socket(fileno=descriptor)
    try:
        _look_at_pydantic()
        spare_plugin_search()
        side = importlib.import_module(SIDE)
    except ImportError as error:
        reason = f"Python {platform.python_version()} of this pack: {error}"
        wanted = " and ".join(f"{name}>={_dotted(least)}" for name, least in LEAST.items())
        remedy = f"install {wanted} in the environment that `python` names"
        end.sendall(frame({"refused": ["environment_unfit", reason, remedy]}))
        os._exit(1)
    side.main(end)
    os._exit(0)


def _look_at_pydantic() -> None:
    """Raise `ImportError` where it is too old; an old one fails only in the middle of a call."""
    found = str(importlib.import_module("pydantic").VERSION)
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdecimal())
    if numbers < LEAST["pydantic"]:
        raise ImportError(f"pydantic must be {_dotted(LEAST['pydantic'])} or later, not {found}")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
