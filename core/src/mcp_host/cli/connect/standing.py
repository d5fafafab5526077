"""How a client stands to this host: whether it knows it, and whether what it knows still holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...clients.changes import Change, entry_in, plan_install
from ...clients.client import Client, Launch, Remote, files_of, is_on
from ...clients.known import CLIENTS
from ...clients.machine import Machine
from ...clients.reading import read_file, server_of, why_off
from ...errors import SettingsError

State = Literal[
    "connected", "drifted", "switched off", "not connected", "other server", "cannot start",
    "unreadable", "not installed",
]  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """One file of a client: its state, in a word and in a sentence."""

    client: Client
    path: Path
    state: State
    why: str = ""
    change: Change | None = None


def standings(
    clients: list[Client],
    start: Launch | Remote | None,
    name: str,
    project: Path | None = None,
    *,
    force: bool = False,
) -> list[Standing]:
    """How these clients stand, each file of theirs for itself; nothing is written or started.

    Without a start, what an entry of that name says is not compared with anything.
    """
    return [
        _standing(client, path, start, name, force)
        for client in clients
        for path in files_of(client, project)
    ]


def found_clients(project: Path | None = None) -> list[Client]:
    """The clients on this machine, as far as their files, folders and programs tell."""
    machine = Machine()
    there = [client for client in CLIENTS.values() if is_on(client, machine)]
    return [client for client in there if project is None or client.project_file]


def _standing(
    client: Client, path: Path, start: Launch | Remote | None, name: str, force: bool
) -> Standing:
    if client.by_bundle:
        return _of_bundle(client, path)
    try:
        old = entry_in(client, path, name)
        change = None if start is None else plan_install(client, path, start, name, force=force)
    except SettingsError as error:
        text = str(error)
        if "has another server called" in text:
            return Standing(client, path, "other server", text)
        return Standing(client, path, "unreadable" if str(path) in text else "cannot start", text)
    if old is None:
        return Standing(client, path, "not connected", change=change)
    server = server_of(client, path, name, old)
    told = " ".join([server.command, *server.arguments]) if server.command else server.url
    if change is not None and start is not None and change.is_needed:
        new = client.entry(start, old, name)
        keys = ", ".join(key for key, value in new.items() if old.get(key) != value)
        return Standing(client, path, "drifted", f"other {keys or 'keys'} than now: {told}", change)
    if not server.enabled:
        return Standing(client, path, "switched off", why_off(old), change)
    if server.command and _is_gone(server.command):
        return Standing(client, path, "drifted", f"{server.command} is not there any more", change)
    return Standing(client, path, "connected", change=change)


def _of_bundle(client: Client, path: Path) -> Standing:
    words = [
        word
        for server in read_file(client, path).servers
        for word in (server.command, *server.arguments)
    ]
    if any("mcp-host" in word or "mcp_host" in word for word in words):
        return Standing(client, path, "connected")
    return Standing(client, path, "not connected")


def _is_gone(command: str) -> bool:
    """Whether a command by its path is there no more; one by its name is looked for at a start."""
    path = Path(command)
    return path.is_absolute() and not path.exists()
