"""The clients that can be told of this host: where their files are, and how to change them.

A change is planned first and applied after, so that it can be shown; it touches one entry of
one file, keeps the rest byte for byte, and leaves a copy of the file as it was.
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Literal

from tomlkit.exceptions import TOMLKitError

from ...errors import SettingsError
from ...startup.trust import write_atomically
from . import jsonc, toml

SERVER_NAME = "mcp-host"


class ClientFileError(SettingsError):
    """A client's file cannot be found, read or changed; it is left as it was."""


class _UnsafeError(Exception):
    """An edit would change more than the entry."""


@dataclass(frozen=True)
class Machine:
    """What decides where files are."""

    system: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def folder(self, variable: str, otherwise: str) -> Path:
        """A folder that a variable can move."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else self.home / otherwise

    def settings_of_programs(self) -> Path:
        """Where programs with a window keep their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.folder("APPDATA", "AppData/Roaming")
        return self.folder("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True)
class Launch:
    """How a client starts this host."""

    command: str
    arguments: tuple[str, ...]


Entry = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """A client: its files, the table of servers in them, and the shape of an entry."""

    name: str
    title: str
    file: Callable[[Machine], Path]
    project_file: str | None
    servers: str
    after: str
    syntax: Literal["json", "toml"] = "json"
    more: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def entry(self, launch: Launch, old: Entry | None = None) -> Entry:
        """The entry; of the `defaults`, those that the old one does not have."""
        missing = {key: value for key, value in self.defaults.items() if key not in (old or {})}
        started = {"command": launch.command, "args": list(launch.arguments)}
        return {**self.more, **missing, **started}


def _claude_desktop(machine: Machine) -> Path:
    folder = machine.settings_of_programs() / "Claude"
    if machine.system == "win32":
        # What the official installer has installed is kept in a folder of its own by Windows, under
        # a name that ends in the publisher's mark; the usual folder is not read then.
        packages = machine.folder("LOCALAPPDATA", "AppData/Local") / "Packages"
        for package in sorted(packages.glob("Claude_*")):
            folder = package / "LocalCache" / "Roaming" / "Claude"
    return folder / "claude_desktop_config.json"


def _zed(machine: Machine) -> Path:
    if machine.system == "win32":
        return machine.settings_of_programs() / "Zed" / "settings.json"
    if machine.system == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.settings_of_programs() / "zed" / "settings.json"


def _claude_code(machine: Machine) -> Path:
    # The file lies beside the folder ~/.claude, but inside a folder named by the variable.
    return machine.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            _claude_desktop,
            None,
            "mcpServers",
            "Quit Claude Desktop and start it again.",
        ),
        Client(
            "claude-code",
            "Claude Code",
            _claude_code,
            ".mcp.json",
            "mcpServers",
            "Start a new session; `/mcp` shows the server.",
            more={"type": "stdio"},
        ),
        Client(
            "cursor",
            "Cursor",
            lambda machine: machine.home / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
            "mcpServers",
            "Look at Settings > Tools & MCP, and switch the server on there.",
        ),
        Client(
            "vscode",
            "VS Code",
            lambda machine: machine.settings_of_programs() / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
            "servers",
            "Run the command `MCP: List Servers`, and start the server there.",
            more={"type": "stdio"},
        ),
        Client(
            "windsurf",
            "Windsurf",
            lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
            None,
            "mcpServers",
            "Refresh the servers in Windsurf's MCP panel.",
        ),
        Client(
            "zed",
            "Zed",
            _zed,
            ".zed/settings.json",
            "context_servers",
            "Zed starts the server by itself; the Agent Panel's settings show it.",
            more={"source": "custom"},
            defaults={"env": {}},
        ),
        Client(
            "gemini-cli",
            "Gemini CLI",
            lambda machine: machine.folder("GEMINI_CLI_HOME", "") / ".gemini" / "settings.json",
            ".gemini/settings.json",
            "mcpServers",
            "Start Gemini CLI again; `/mcp` shows the server.",
        ),
        Client(
            "codex",
            "Codex",
            lambda machine: machine.folder("CODEX_HOME", ".codex") / "config.toml",
            ".codex/config.toml",
            "mcp_servers",
            "Start Codex again; `/mcp` shows the server.",
            syntax="toml",
        ),
    )
}


@dataclass(frozen=True)
class Change:
    """What would become of a client's file; `before` is None where there is none yet.

    `off` is the setting by which the user has switched the entry off, if one has.
    """

    path: Path
    before: str | None
    after: str
    off: str = ""

    @property
    def is_needed(self) -> bool:
        return (self.before or "") != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty when nothing changes."""
        name = str(self.path)
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            "/dev/null" if self.before is None else name,
            name,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def find(name: str) -> Client:
    """The client of that name.

    Raises `ClientFileError`.
    """
    if name not in CLIENTS:
        raise ClientFileError(f"no client {name!r} is known: name one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def file_of(client: Client, project: Path | None = None, machine: Machine | None = None) -> Path:
    """The client's own file, or the one in a project's folder.

    Raises `ClientFileError` for a client without files in projects.
    """
    if project is None:
        return client.file(machine or Machine())
    if client.project_file is None:
        raise ClientFileError(
            f"{client.title} keeps no servers with a project: leave out --project"
        )
    return project.absolute() / client.project_file


def this_host(config: Path, root: Path | None = None, executable: Path | None = None) -> Launch:
    """How to start this very installation with a settings file, from any folder."""
    python = executable or Path(sys.executable)
    command = python.with_name("mcp-host.exe" if python.suffix == ".exe" else "mcp-host")
    project = ("--root", str(root.absolute())) if root else ()
    serve = ("serve", "--config", str(config.absolute()), *project)
    if command.is_file():
        return Launch(str(command), serve)
    return Launch(str(python), ("-P", "-m", "mcp_host", *serve))


def plan_install(
    client: Client, path: Path, launch: Launch, name: str = SERVER_NAME, *, force: bool = False
) -> Change:
    """Put the host into the client's file; what else its entry has is kept.

    Raises `ClientFileError` for a file that is damaged, and, unless forced, for an entry of that
    name that starts something else.
    """
    before = _read(path)
    old = _entry_in(client, path, before, name)
    _refuse_anothers(client, path, old, name, "replaced", force)
    entry = client.entry(launch, old)
    return Change(path, before, _edited(client, path, before, name, entry), _why_off(old))


def plan_uninstall(
    client: Client, path: Path, name: str = SERVER_NAME, *, force: bool = False
) -> Change:
    """Take the host out of the client's file; raises as `plan_install`."""
    before = _read(path)
    if before is None:
        return Change(path, None, "")
    _refuse_anothers(client, path, _entry_in(client, path, before, name), name, "removed", force)
    return Change(path, before, _edited(client, path, before, name, None))


def entry_in(client: Client, path: Path, name: str = SERVER_NAME) -> Entry | None:
    """The entry of that name in the client's file; None where there is none.

    Raises `ClientFileError` for a file that is damaged.
    """
    return _entry_in(client, path, _read(path), name)


def _entry_in(client: Client, path: Path, text: str | None, name: str) -> Entry | None:
    if not (text or "").strip().removeprefix("\ufeff"):
        return None
    read = jsonc.loads if client.syntax == "json" else _toml_loads
    with _telling(client, path, name):
        found = _entry_of(read(text or ""), client.servers, name)
    return found if isinstance(found, dict) else None


def _toml_loads(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _refuse_anothers(
    client: Client, path: Path, entry: Entry | None, name: str, done: str, force: bool
) -> None:
    """Raise `ClientFileError` where an entry starts something else than this host."""
    if entry is None or force or _starts_a_host(entry):
        return
    what = entry.get("command") or entry.get("url") or "something else"
    raise ClientFileError(
        f"{path} has another server called {name} ({what}), which is not {done}: take another name"
        " with --name, or add --force"
    )


def _starts_a_host(entry: Entry) -> bool:
    """Whether an entry starts an mcp-host, this one or another installation's."""
    if "command" not in entry:
        return not any("url" in key.lower() for key in entry)
    given = entry.get("args")
    words = [str(entry["command"]), *(map(str, given) if isinstance(given, list) else ())]
    names = {PurePath(word.replace("\\", "/")).name.removesuffix(".exe") for word in words}
    return bool(names & {"mcp-host", "mcp_host"})


def _why_off(entry: Entry | None) -> str:
    """The setting by which the user has switched an entry off; empty where it is on."""
    if entry is not None:
        if entry.get("disabled") is True:
            return "disabled = true"
        if entry.get("enabled") is False:
            return "enabled = false"
    return ""


def apply(change: Change, *, copy: bool = True) -> Path | None:
    """Write the file as a whole or not at all; returns the copy of what it was, if there is one.

    There is one copy, `FILE.bak`, and only while the file differs from it; without `copy` none is
    made. Symbolic links are followed; the file keeps its mode and owner. Raises `ClientFileError`
    when the file was changed since the plan was made, or cannot be written.
    """
    path = change.path.resolve()
    if _read(path) != change.before:
        raise ClientFileError(f"{change.path} was changed in the meantime: run the command again")
    try:
        if change.before is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, change.after.encode())
            return None
        kept = _keep_copy(path, change) if copy else None
        status = path.stat()
        write_atomically(path, change.after.encode(), mode=status.st_mode & 0o7777)
        if hasattr(os, "chown") and os.geteuid() == 0:
            os.chown(path, status.st_uid, status.st_gid)
        return kept
    except OSError as error:
        raise ClientFileError(
            f"{change.path} cannot be written: {error.strerror or error}"
        ) from error


def is_under_git(path: Path) -> bool:
    """Whether a file is in a folder that git keeps, where a copy would be a file to commit."""
    return any((folder / ".git").exists() for folder in path.resolve().parents)


def _keep_copy(path: Path, change: Change) -> Path | None:
    """A copy of the file beside it, with its mode; none where the file becomes what the copy is."""
    copy = path.with_name(f"{path.name}.bak")
    if copy.is_file() and copy.read_bytes() == change.after.encode():
        copy.unlink()
        return None
    shutil.copy2(path, copy)
    return copy


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ClientFileError(f"{path} is not UTF-8 text: it is left as it is") from None
    except OSError as error:
        raise ClientFileError(f"{path} cannot be read: {error.strerror or error}") from error


def _edited(client: Client, path: Path, before: str | None, name: str, entry: Entry | None) -> str:
    edit = _edit_json if client.syntax == "json" else _edit_toml
    with _telling(client, path, name):
        return edit(before or "", client.servers, name, entry)


@contextmanager
def _telling(client: Client, path: Path, name: str) -> Iterator[None]:
    """Raise `ClientFileError` for whatever is wrong with the client's file."""
    try:
        yield
    except (jsonc.BadJson, tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise ClientFileError(f"{path} is damaged and left as it is: {error}") from error
    except jsonc.NoObject as error:
        raise ClientFileError(
            f"{path} is not what {client.title} reads, and left as it is: {error}"
        ) from error
    except _UnsafeError:
        raise ClientFileError(
            f"{path} is laid out in a way that cannot be edited safely, and is left as it is:"
            f" change {name} in {client.servers} by hand"
        ) from None


def _edit_json(text: str, servers: str, name: str, entry: Entry | None) -> str:
    if not text.strip().removeprefix("\ufeff"):
        text = "{}\n"
    wanted = _with_entry(jsonc.loads(text), servers, name, entry)
    if entry is None:
        text = jsonc.without_member(text, (servers, name))
    elif isinstance(_entry_of(jsonc.loads(text), servers, name), dict):
        for key, value in entry.items():
            text = jsonc.with_member(text, (servers, name, key), value)
    else:
        text = jsonc.with_member(text, (servers, name), entry)
    if jsonc.loads(text) != wanted:
        raise _UnsafeError
    return text


def _edit_toml(text: str, servers: str, name: str, entry: Entry | None) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    wanted = _with_entry(tomllib.loads(text), servers, name, entry)
    ways: Sequence[Callable[[str, str, str], str]]
    if entry is None:
        ways = (toml.without_table, toml.without_entry)
    elif _entry_of(tomllib.loads(text), servers, name) is None:
        ways = (partial(toml.with_table, entry=entry), partial(toml.with_entry, entry=entry))
    else:
        ways = (partial(toml.with_entry, entry=entry),)
    for edit in ways:
        edited = edit(text, servers, name)
        try:
            # A table of servers that is empty now may be gone altogether.
            if {servers: {}, **tomllib.loads(edited)} == {servers: {}, **wanted}:
                return mark + edited
        except tomllib.TOMLDecodeError:
            continue
    raise _UnsafeError


def _entry_of(data: Any, servers: str, name: str) -> Any:
    table = data.get(servers) if isinstance(data, Mapping) else None
    return table.get(name) if isinstance(table, Mapping) else None


def _with_entry(data: Any, servers: str, name: str, entry: Entry | None) -> Any:
    """The data that the edited file must hold."""
    if not isinstance(data, dict):
        raise jsonc.NoObject("the whole must be an object")
    table = data.get(servers, {})
    if not isinstance(table, dict):
        raise jsonc.NoObject(f"{servers} must be an object")
    if entry is None:
        kept = {key: value for key, value in table.items() if key != name}
        return {**data, servers: kept} if servers in data else data
    old = table.get(name)
    new = {**old, **entry} if isinstance(old, dict) else entry
    return {**data, servers: {**table, name: new}}
