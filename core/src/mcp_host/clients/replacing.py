"""A client's file with the one entry of the host in place of servers that it serves now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .changes import Change, apply, plan_install
from .client import SERVER_NAME, Client, ClientFileError, this_host
from .edits import edited, without_entry_of_project
from .known import CLIENTS
from .reading import ClientFile, files_at, read_file

SYNTAXES = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}


def client_file(path: Path) -> ClientFile:
    """Read a file as the client does whose it is, or whose shape it has.

    Raises `ClientFileError` where no client's servers are in it.
    """
    problem = ""
    if not path.is_file():
        raise ClientFileError(f"{path}: there is no such file")
    syntax = SYNTAXES.get(path.suffix.lower(), "json")
    clients = [one for one in CLIENTS.values() if one.syntax == syntax and not one.by_bundle]
    place = path.absolute()
    for client in sorted(clients, key=lambda one: not _is_file_of(one, place)):
        found = read_file(client, place)
        if found.servers:
            if not _is_file_of(client, place):
                found = replace(found, title=f"A file with servers as {client.title} has them")
            return found
        problem = problem or found.problem
    why = problem or "it has no servers in a shape that a known client has"
    raise ClientFileError(f"{path}: {why}")


def _is_file_of(client: Client, place: Path) -> bool:
    """Whether a file is the client's own, or named as the one that it reads in a project."""
    if place in files_at(client):
        return True
    names = Path(client.project_file or "").parts
    return bool(names) and place.parts[-len(names) :] == names


def plan_replacement(
    file: ClientFile,
    names: Sequence[str],
    settings: Path,
    of_projects: Sequence[tuple[str, str]] = (),
) -> Change:
    """Plan to have a client start the host by these settings, in place of the servers named.

    `of_projects` are servers of single projects in the file, each with the project's folder and its
    name. Raises `ClientFileError` for a file that cannot be changed so.
    """
    client: Client = CLIENTS[file.client]
    change = plan_install(client, file.path, this_host(settings))
    text = change.after
    for name in names:
        if name != SERVER_NAME:
            text = edited(client, text, name, None)
    for project, name in of_projects:
        text = without_entry_of_project(client, text, project, name)
    return Change(change.path, change.before, text, change.off)


def apply_change(change: Change) -> None:
    """Write a client's file as planned, without a copy of what it was.

    Raises `ClientFileError` where the file has changed since, or cannot be written.
    """
    apply(change, copy=False)
