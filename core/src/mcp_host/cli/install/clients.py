"""The clients that can be told of this host: where their files are, what an entry looks like."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...errors import SettingsError

SERVER_NAME = "mcp-host"


class ClientFileError(SettingsError):
    """A client's file cannot be found, read or changed; it is left as it was."""


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
