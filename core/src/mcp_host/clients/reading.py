"""What stands in the clients' files: every server that they know, whoever put it there.

Nothing is written and nothing is started. The values of an entry's environment and headers may be
secrets: they are in `ClientServer` for programs, and never in what it shows of itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from . import jsonc
from .client import Client, ClientFileError, Entry, files_of
from .edits import MARK, entries_of, entries_of_projects
from .known import CLIENTS
from .machine import Machine


@dataclass(frozen=True)
class ClientServer:
    """One server of a client, in the words of the protocol instead of the client's own.

    Either `command` or `url` is set. `environment` and `headers` are as the file has them, with
    references where it has them (`${env:NAME}`), and `entry` is the whole of it. `project` is the
    folder of the project that it belongs to, where the file has servers of several.

    Invariants: it never changes. `repr` shows nothing of `environment`, `headers` and `entry`,
    which may hold secrets.
    """

    client: str
    file: Path
    name: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    url: str = ""
    folder: str = ""
    enabled: bool = True
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    entry: Mapping[str, Any] = field(default_factory=dict, repr=False)
    project: str = ""


@dataclass(frozen=True)
class ClientFile:
    """A client's file that is there: its servers, or the problem why they cannot be read."""

    client: str
    title: str
    path: Path
    servers: tuple[ClientServer, ...] = ()
    problem: str = ""


def client_files(project: Path | None = None, names: Sequence[str] = ()) -> list[ClientFile]:
    """Read the files of the clients on this machine, or those in a project's folder.

    `names` are the clients to look at, all that are known unless given. A file that is damaged is
    there with its problem; one that is not there is left out. Raises `ClientFileError` for a name
    that is no client's.
    """
    unknown = [name for name in names if name not in CLIENTS]
    if unknown:
        raise ClientFileError(
            f"no client {unknown[0]!r} is known: name one of {', '.join(CLIENTS)}"
        )
    return [
        read_file(client, path)
        for name, client in CLIENTS.items()
        if not names or name in names
        for path in _paths(client, project)
        if path.is_file()
    ]


def read_file(client: Client, path: Path) -> ClientFile:
    """Read one file of a client."""
    try:
        text = path.read_bytes().decode().removeprefix(MARK)
        entries = _of_bundle(text) if client.by_bundle else entries_of(client, text)
        of_projects = entries_of_projects(client, text)
    except UnicodeDecodeError:
        return ClientFile(client.name, client.title, path, problem="it is not UTF-8 text")
    except OSError as error:
        return ClientFile(client.name, client.title, path, problem=error.strerror or str(error))
    except (ValueError, SettingsError) as error:
        return ClientFile(client.name, client.title, path, problem=str(error))
    servers = [server_of(client, path, name, entry) for name, entry in entries.items()]
    servers += [
        server_of(client, path, name, entry, project)
        for project, own in of_projects.items()
        for name, entry in own.items()
    ]
    return ClientFile(client.name, client.title, path, tuple(servers))


def server_of(
    client: Client, path: Path, name: str, entry: Entry, project: str = ""
) -> ClientServer:
    """What an entry of a client says, of one project where that is named."""
    command = entry.get(client.command)
    words = [*map(str, command)] if isinstance(command, list) else []
    if not words and isinstance(command, str):
        given = entry.get(client.arguments or "args")
        words = [command, *(map(str, given) if isinstance(given, list) else ())]
    url = next(
        (entry[key] for key in (client.url, "url", "serverUrl", "httpUrl", "uri") if key in entry),
        "",
    )
    return ClientServer(
        client=client.name,
        file=path,
        name=name,
        command=words[0] if words else "",
        arguments=tuple(words[1:]),
        url=url if isinstance(url, str) and not words else "",
        folder=str(entry.get("cwd") or entry.get("working_directory") or project),
        enabled=not why_off(entry),
        environment=_texts(entry.get(client.environment)),
        headers=_texts(entry.get(client.headers)),
        entry=entry,
        project=project,
    )


def why_off(entry: Mapping[str, Any] | None) -> str:
    """The setting by which the user has switched an entry off; empty where it is on."""
    if entry is not None:
        if entry.get("disabled") is True:
            return "disabled = true"
        if entry.get("enabled") is False:
            return "enabled = false"
    return ""


def files_at(client: Client) -> list[Path]:
    """The own files of a client on this machine, there or not; none on other systems."""
    return _paths(client, None)


def _paths(client: Client, project: Path | None) -> list[Path]:
    try:
        return files_of(client, project, Machine())
    except ClientFileError:
        return []


def _of_bundle(text: str) -> dict[str, Entry]:
    """The server of a bundle's manifest, under the bundle's name."""
    manifest = jsonc.loads(text)
    server = manifest.get("server") if isinstance(manifest, dict) else None
    entry = server.get("mcp_config") if isinstance(server, dict) else None
    if not isinstance(entry, dict):
        return {}
    return {str(manifest.get("name", "")): entry}


def _texts(given: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}
