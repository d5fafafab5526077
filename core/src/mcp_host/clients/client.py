"""What a client is to this host: its files, and how an entry is written in them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import SettingsError
from .machine import Machine

SERVER_NAME = "mcp-host"
SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
Entry = dict[str, Any]
Syntax = Literal["json", "toml", "yaml"]


class ClientFileError(SettingsError):
    """A client's file cannot be found, read or changed; it is left as it was."""


@dataclass(frozen=True)
class Launch:
    """How a client starts this host; `variables` are passed on from where the client runs."""

    command: str
    arguments: tuple[str, ...]
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remote:
    """A host that is reached over HTTP; `token` is the variable that holds its bearer token."""

    url: str
    token: str = ""


@dataclass(frozen=True)
class Client:
    """A client: where its files are, the table of servers in them, and the shape of an entry.

    `files` are the client's own files, as `Machine` writes paths: each is a place of its own, and
    of several alternatives in one (a tuple) one is used. `darwin` and `windows` stand in their
    place on these systems. `servers` is the table of servers, and `listed` says that it is a list
    of entries with their `name`. `marks` and `programs` tell that the client is on a machine,
    beside the folders of its files.

    `refer` is how the client writes the value of a variable, with NAME in it; `names` is the key of
    an entry that lists variables to pass on; `inputs` says that the client asks for values and
    keeps them. `begins` is what the client needs in a file beside the servers, written where there
    was no file or an empty one.

    `projects` is a table of the client's own file with projects by their folders, each of which has
    servers of its own; they are read and taken out, never put in.

    `by_bundle` says that entries come from bundles, and are read alone. `folder` is where the
    client starts a server, `inherits` that it passes on all of its own environment, and `seconds`
    how long it waits for a server to begin.

    `command`, `arguments`, `environment`, `url` and `headers` are the keys of an entry; where
    `arguments` is None, `command` has all of the line as one list, and where `url` is None, the
    client reaches no server by HTTP. `more` stands in each entry, `more_of_url` in those of a URL,
    and `defaults` where the person's own file has no other value. `bearer` is the key that names
    the variable with a token. `systems` are those that the client is for, all where it is empty.

    Invariants: it never changes. `inputs` excludes `refer` and `names`; with both of those, `refer`
    is for headers. One that is `by_bundle` is only read.
    """

    name: str
    title: str
    files: tuple[str | tuple[str, ...], ...]
    servers: str
    after: str
    source: str
    project_file: str | None = None
    darwin: tuple[str | tuple[str, ...], ...] = ()
    windows: tuple[str | tuple[str, ...], ...] = ()
    systems: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    syntax: Syntax = "json"
    listed: bool = False
    command: str = "command"
    arguments: str | None = "args"
    environment: str = "env"
    more: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    url: str | None = "url"
    more_of_url: Mapping[str, Any] = field(default_factory=dict)
    headers: str = "headers"
    bearer: str | None = None
    refer: str = ""
    names: str = ""
    inputs: bool = False
    projects: str = ""
    begins: str = ""
    by_bundle: bool = False
    folder: Literal["home", "project"] = "home"
    inherits: bool = False
    seconds: int = 60

    @property
    def can_refer(self) -> bool:
        """Whether an entry can have a variable's value without holding it."""
        return bool(self.refer or self.names or self.inputs)

    @property
    def how_by_bundle(self) -> str:
        """What a person does whose client takes bundles alone."""
        return (
            f"{self.title} come from bundles: make one with `mcp-host bundle --format mcpb`, and "
            "open it with Claude Desktop"
        )

    def entry(self, start: Launch | Remote, old: Entry | None = None, name: str = "") -> Entry:
        """The entry; of the `defaults`, those that the old one does not have.

        Raises `ClientFileError` for a way to start or reach a host that the client does not have.
        """
        if self.by_bundle:
            raise ClientFileError(self.how_by_bundle)
        made = self._remote(start) if isinstance(start, Remote) else self._started(start, old)
        missing = {key: value for key, value in self.defaults.items() if key not in (old or {})}
        if isinstance(start, Remote):
            missing = {key: value for key, value in missing.items() if key != self.environment}
        named = {"name": name} if name and (self.listed or "name" in self.more) else {}
        return {**named, **missing, **made, **named}

    def _started(self, launch: Launch, old: Entry | None) -> Entry:
        started: Entry
        if self.arguments is None:
            started = {self.command: [launch.command, *launch.arguments]}
        else:
            started = {self.command: launch.command, self.arguments: [*launch.arguments]}
        had = (old or {}).get(self.environment)
        given = dict(had) if isinstance(had, Mapping) else {}
        wanted = [name for name in launch.variables if name not in given]
        if wanted and self.names:
            listed = (old or {}).get(self.names)
            others = [*listed] if isinstance(listed, list) else []
            started[self.names] = [*others, *(name for name in wanted if name not in others)]
        elif wanted and self.can_refer:
            references = {name: self.reference(name) for name in wanted}
            started[self.environment] = {**given, **references}
        return {**self.more, **started}

    def _remote(self, remote: Remote) -> Entry:
        if self.url is None:
            raise ClientFileError(
                f"{self.title} starts hosts by itself, and its file has no way to name one over "
                "HTTP: leave out --url"
            )
        entry: Entry = {**self.more_of_url, self.url: remote.url}
        if remote.token and self.bearer:
            entry[self.bearer] = remote.token
        elif remote.token and (self.refer or self.inputs):
            entry[self.headers] = {"Authorization": f"Bearer {self.reference(remote.token)}"}
        elif remote.token:
            raise ClientFileError(
                f"{self.title} has no way to refer to a variable, and no token is written into its "
                "file by this command: add the header Authorization there by hand"
            )
        return entry

    def asked(self, start: Launch | Remote, old: Entry | None = None) -> list[Entry]:
        """What the client is to ask its user for, where it asks."""
        token = (start.token,) if isinstance(start, Remote) and start.token else ()
        names = start.variables if isinstance(start, Launch) else token
        had = (old or {}).get(self.environment)
        given = had if isinstance(had, Mapping) else {}
        return [
            input_for(name)
            for name in names
            if self.inputs and given.get(name) in (None, self.reference(name))
        ]

    def reference(self, variable: str) -> str:
        """The value of a variable, as this client writes it."""
        return f"${{input:{variable}}}" if self.inputs else self.refer.replace("NAME", variable)


def input_for(variable: str) -> Entry:
    """What a client is told to ask its user for."""
    return {"type": "promptString", "id": variable, "description": variable, "password": True}


def places(client: Client, machine: Machine | None = None) -> list[Path]:
    """The client's own files on a machine, there or not: those of installed variants, else one."""
    machine = machine or Machine()
    ours = {"darwin": client.darwin, "win32": client.windows}.get(machine.system) or client.files
    first: Path | None = None
    there: list[Path] = []
    for choice in ours:
        for path in _chosen((choice,) if isinstance(choice, str) else choice, machine):
            first = first or path
            if path.exists() or (path.parent != machine.home and path.parent.is_dir()):
                there.append(path)
    return there or ([first] if first is not None else [])


def file_of(client: Client, project: Path | None = None, machine: Machine | None = None) -> Path:
    """The client's own file, or the one in a project's folder.

    Raises `ClientFileError` for a client without files in projects, or without one on this system.
    """
    return files_of(client, project, machine)[0]


def files_of(
    client: Client, project: Path | None = None, machine: Machine | None = None
) -> list[Path]:
    """All files in which a client has servers on this machine, or the one of a project.

    Raises as `file_of`.
    """
    machine = machine or Machine()
    if client.systems and machine.system not in client.systems:
        names = " and ".join(SYSTEMS[system] for system in client.systems)
        raise ClientFileError(f"{client.title} is a program for {names} alone")
    if project is None:
        found = places(client, machine)
        if client.by_bundle and not found:
            raise ClientFileError(client.how_by_bundle)
        return found
    if client.project_file is None:
        raise ClientFileError(
            f"{client.title} keeps no servers with a project: leave out --project"
        )
    return [project.absolute() / client.project_file]


def is_on(client: Client, machine: Machine | None = None) -> bool:
    """Whether a client seems to be installed: its file, its folder or its program is there."""
    machine = machine or Machine()
    if client.systems and machine.system not in client.systems:
        return False
    paths = [*places(client, machine)]
    folders = [path.parent for path in paths if path.parent != machine.home]
    marked = [path for mark in client.marks for path in machine.found(mark)]
    # A folder that other clients share says nothing of this one.
    own = marked if client.marks else folders
    return (
        any(path.is_file() for path in paths)
        or any(folder.is_dir() for folder in own)
        or any(machine.has_program(program) for program in client.programs)
    )


def this_host(config: Path, root: Path | None = None, executable: Path | None = None) -> Launch:
    """How to start this very installation with a settings file, from any folder."""
    python = executable or Path(sys.executable)
    command = python.with_name("mcp-host.exe" if python.suffix == ".exe" else "mcp-host")
    project = ("--root", str(root.absolute())) if root else ()
    serve = ("serve", "--config", str(config.absolute()), *project)
    if command.is_file():
        return Launch(str(command), serve)
    return Launch(str(python), ("-P", "-m", "mcp_host", *serve))


def _chosen(alternatives: tuple[str, ...], machine: Machine) -> list[Path]:
    """The paths of a place: what a `*` finds, else the one that is there, else the first."""
    plain: list[Path] = []
    for written in alternatives:
        found = machine.found(written)
        if "*" in written:
            if found:
                return found if len(alternatives) == 1 else found[-1:]
        elif found[0].is_file():
            return found
        else:
            plain += found
    return plain[:1]
