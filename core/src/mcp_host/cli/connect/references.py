"""What an entry refers to, as a client would find it: variables, and what it passes on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from ...clients.client import Client
from ...clients.reading import ClientServer

PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
PASSED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "PROGRAMFILES",
)  # fmt: skip
"""What clients give a server of their own environment: the list of the protocol's own SDKs."""
REFERENCE = re.compile(
    r"\$\{\{\s*secrets\.(\w+)\s*\}\}|\$\{(?:env:|input:)?(\w+)\}|\{env:(\w+)\}|\$(\w+)"
)


class NotStarted(Exception):
    """The host did not begin as the client would need it; says why."""


class UnsetVariable(NotStarted):
    """The entry refers to a variable that is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the entry refers to {name}, which is not set here: set it where the client is started"
        )


def environment(
    client: Client, server: ClientServer, ours: Mapping[str, str], system: str = sys.platform
) -> dict[str, str]:
    """The variables that a client starts this server with, where it has those of `ours` itself.

    Raises `NotStarted` for a reference to a variable that is not set.
    """
    passed = PASSED_ON_WINDOWS if system == "win32" else PASSED_ON
    listed = server.entry.get(client.names) if client.names else ()
    names = [*ours] if client.inherits else [*passed, *(listed if isinstance(listed, list) else ())]
    given = {name: ours[name] for name in names if name in ours}
    if missing := [name for name in listed or () if name not in ours]:
        raise UnsetVariable(missing[0])
    return given | {key: resolved(value, ours) for key, value in server.environment.items()}


def resolved(text: str, ours: Mapping[str, str] | None = None) -> str:
    """A text of an entry with the values of the variables that it refers to."""
    return REFERENCE.sub(lambda found: variable(next(filter(None, found.groups())), ours), text)


def variable(name: str, ours: Mapping[str, str] | None = None) -> str:
    """The value of a variable; `UnsetVariable` where it has none."""
    given = os.environ if ours is None else ours
    if name not in given:
        raise UnsetVariable(name)
    return given[name]
