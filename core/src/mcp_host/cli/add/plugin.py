"""An Agent Plugin 1.0.0 as packs: each of its MCP servers becomes a mounted one in the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ...errors import SettingsError
from ...startup import folders

MANIFEST = "plugin.json"
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
WORKERS = "mcp_host.workers"
TRANSPORTS = {"streamable-http": "http", "sse": "sse"}
LONGEST_PACK = 32
KEYS = {
    "stdio": {"type", "command", "args", "env", "cwd"},
    "streamable-http": {"type", "url", "headers"},
    "sse": {"type", "url", "headers"},
}


@dataclass(frozen=True)
class Plugin:
    """The packs' tables by their names; `skipped` says what is left out, and why."""

    packs: Mapping[str, Mapping[str, Any]]
    skipped: tuple[str, ...]


def is_plugin(folder: Path) -> bool:
    """Whether a folder holds an Agent Plugin."""
    return (folder / MANIFEST).is_file()


def read(folder: Path) -> Plugin:
    """Read a plugin; `SettingsError` where it cannot be used, or nothing here mounts servers."""
    if not metadata.entry_points(group=WORKERS, name="command"):
        raise SettingsError(
            'an Agent Plugin needs what mounts servers: pip install "mcp-host[mount]"'
        )
    root = folder.resolve()
    name = _json(root / MANIFEST, "plugin").get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", name):
        raise SettingsError(f"{root / MANIFEST} must have a name of a-z, 0-9 and single - or .")
    servers: Any = {}
    if (root / "mcp.json").is_file():
        servers = _json(root / "mcp.json", "mcp").get("mcpServers")
    if not isinstance(servers, dict) or not servers:
        raise SettingsError(f"{root} has no MCP servers in its mcp.json, so there is no pack in it")
    packs, skipped = {}, []
    for server, entry in servers.items():
        pack = _pack_name(name if len(servers) == 1 else f"{name}_{server}")
        try:
            packs[pack] = _table(root, pack, entry)
        except ValueError as error:
            skipped.append(f"the server {server} is left out: {error}")
    if not packs:
        raise SettingsError("; ".join(skipped))
    skills = [path.parent.name for path in sorted(root.glob("skills/*/SKILL.md"))]
    if skills:
        skipped.append(f"its skills are not served by the host: {', '.join(skills)}")
    return Plugin(packs, tuple(skipped))


def _json(path: Path, kind: str) -> dict[str, Any]:
    try:
        data: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    if not isinstance(data, dict) or data.get("$schema") != f"{SCHEMAS}/{kind}.schema.json":
        raise SettingsError(f"{path} must be of Agent Plugins 1.0.0, as its $schema says")
    return data


def _pack_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST_PACK].rstrip("_")
    return plain if plain[:1].isalpha() else f"p_{plain}"[:LONGEST_PACK]


def _table(root: Path, pack: str, entry: Any) -> dict[str, Any]:
    """The settings of one server; `ValueError` says what the specification does not allow."""
    kind = entry.get("type") if isinstance(entry, dict) else None
    if kind not in KEYS:
        raise ValueError(f"its type must be one of {', '.join(KEYS)}")
    if unknown := set(entry) - KEYS[kind]:
        raise ValueError(f"{', '.join(sorted(unknown))} is not of the format")
    if kind != "stdio":
        table = {"enabled": True, "url": _text(entry, "url"), "transport": TRANSPORTS[kind]}
        return {**table, **({"headers": entry["headers"]} if entry.get("headers") else {})}
    places = {"PLUGIN_ROOT": root, "PLUGIN_DATA": Path(folders.data(), "mcp-host", "plugins", pack)}

    def filled(text: str) -> str:
        return re.sub(r"\$\{(PLUGIN_ROOT|PLUGIN_DATA)\}", lambda f: str(places[f[1]]), text)

    command = _text(entry, "command")
    if "/" in command or "\\" in command:
        command = str(_inside(root, command))
    cwd = entry.get("cwd", "${PLUGIN_ROOT}")
    there = _inside(root, cwd) if cwd.startswith("./") else Path(filled(cwd)).resolve()
    if not any(there.is_relative_to(place.resolve()) for place in places.values()):
        raise ValueError("cwd must lie in the plugin or in its data folder")
    arguments = [filled(argument) for argument in entry.get("args", ())]
    environment = {key: filled(value) for key, value in entry.get("env", {}).items()}
    table = {"enabled": True, "command": [command, *arguments], "cwd": str(there)}
    return {**table, **({"env": environment} if environment else {})}


def _text(entry: Mapping[str, Any], key: str) -> str:
    found = entry.get(key)
    if not isinstance(found, str) or not found:
        raise ValueError(f"{key} must be a text")
    return found


def _inside(root: Path, path: str) -> Path:
    there = (root / path).resolve()
    if not path.startswith("./") or not there.is_relative_to(root):
        raise ValueError(f"{path} must begin with ./ and stay in the plugin")
    return there
