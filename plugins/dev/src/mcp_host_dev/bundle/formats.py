"""The forms of a bundle: what each client, registry or machine wants to find where."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w

from .chosen import HOST, Chosen
from .errors import BundleError
from .payload import (
    PROGRAM,
    PYTHON,
    ROOT_VARIABLE,
    Files,
    program_files,
    project_file,
    skill_files,
    started_by,
    wheel_files,
)

AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0"
REGISTRY = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
LABEL = "io.modelcontextprotocol.server.name"
EVERYWHERE = "0.0.0.0"  # noqa: S104  # in the container; who calls needs a token
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
DESCRIPTION_LENGTH = 100


@dataclass(frozen=True)
class Published:
    """Where the bundle is published: its name in the MCP registry, and its image there."""

    server_name: str | None = None
    image: str | None = None


def mcpb(chosen: Chosen, published: Published) -> Files:
    """An MCP Bundle, manifest 0.4, whose host brings Python and the packages with uv."""
    project = {
        "type": "directory",
        "title": "Project folder",
        "description": "The folder that packs about a project work in.",
        "required": False,
    }
    server = {
        "type": "uv",
        "entry_point": PROGRAM,
        "mcp_config": {
            **started_by("${__dirname}"),
            "env": {ROOT_VARIABLE: "${user_config.root}"},
        },
    }
    manifest = {
        "manifest_version": "0.4",
        "name": chosen.name,
        "display_name": f"mcp-host: {', '.join(chosen.packs)}",
        "version": chosen.version,
        "description": chosen.description,
        "author": {"name": chosen.author},
        "server": server,
        "tools": [_told(tool) for tool in chosen.tools],
        "tools_generated": True,
        "prompts_generated": bool(chosen.prompts),
        "license": "MIT",
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": PYTHON},
        },
        "user_config": {"root": project},
    }
    files = {
        "manifest.json": _json(manifest),
        "pyproject.toml": project_file(chosen),
        ".mcpbignore": b".venv/\n__pycache__/\n",
        **program_files(chosen),
    }
    return {f"{chosen.name}-{chosen.version}.mcpb": _zipped(files)}


def plugin(chosen: Chosen, published: Published) -> Files:
    """An Agent Plugin 1.0.0: a manifest, one MCP server, and the skills of the packs."""
    manifest = {"$schema": f"{AGENT_PLUGINS}/plugin.schema.json", **_about(chosen)}
    server = {"type": "stdio", **started_by("${PLUGIN_ROOT}")}
    servers = {
        "$schema": f"{AGENT_PLUGINS}/mcp.schema.json",
        "mcpServers": {chosen.name: server},
    }
    return {
        "plugin.json": _json(manifest),
        "mcp.json": _json(servers),
        **skill_files(chosen),
        **program_files(chosen),
    }


def claude(chosen: Chosen, published: Published) -> Files:
    """A plugin of Claude Code."""
    servers = {"mcpServers": {chosen.name: started_by("${CLAUDE_PLUGIN_ROOT}")}}
    return {
        ".claude-plugin/plugin.json": _json(_about(chosen)),
        ".mcp.json": _json(servers),
        **skill_files(chosen),
        **program_files(chosen),
    }


def gemini(chosen: Chosen, published: Published) -> Files:
    """An extension of Gemini CLI, which starts the host in the folder that it works on."""
    server = {**started_by("${extensionPath}", "${/}"), "cwd": "${workspacePath}"}
    manifest = {
        "name": chosen.name,
        "version": chosen.version,
        "description": chosen.description,
        "mcpServers": {chosen.name: server},
    }
    return {
        "gemini-extension.json": _json(manifest),
        **skill_files(chosen),
        **program_files(chosen),
    }


def server_json(chosen: Chosen, published: Published) -> Files:
    """The entry of the MCP registry, 2025-12-11: how a client starts the published host."""
    if published.server_name is None:
        raise BundleError("server.json needs the registry's name: --server-name io.github.YOU/NAME")
    host, *packs = chosen.requirements
    package = {
        "registryType": "pypi",
        "identifier": host.name,
        "version": host.version,
        "runtimeHint": "uvx",
        "runtimeArguments": [
            {"type": "named", "name": "--with", "value": pack.pin} for pack in packs
        ],
        "transport": {"type": "stdio"},
        "packageArguments": [
            {"type": "positional", "value": "serve"},
            {
                "type": "named",
                "name": "--config",
                "description": "The settings file, which `mcp-host init` writes.",
                "format": "filepath",
                "isRequired": True,
            },
        ],
    }
    packages: list[dict[str, Any]] = [package]
    if published.image:
        arguments = [{"type": "named", "name": "--config", "value": "/etc/mcp-host/stdio.toml"}]
        image = {"registryType": "oci", "identifier": published.image, "runtimeHint": "docker"}
        packages.append({**image, "transport": {"type": "stdio"}, "packageArguments": arguments})
    description = chosen.description
    if len(description) > DESCRIPTION_LENGTH:
        description = f"{description[: DESCRIPTION_LENGTH - 1].rstrip()}…"
    server = {
        "$schema": REGISTRY,
        "name": published.server_name,
        "description": description,
        "version": chosen.version,
        "packages": packages,
    }
    return {"server.json": _json(server)}


def container(chosen: Chosen, published: Published) -> Files:
    """A Containerfile with all that it copies: no root, a health check, tokens from outside."""
    labels = {"org.opencontainers.image.title": chosen.name}
    labels |= {"org.opencontainers.image.version": chosen.version}
    labels |= {"org.opencontainers.image.description": chosen.description}
    if published.server_name:
        labels[LABEL] = published.server_name
    wanted = [
        f"./wheels/{need.wheel.name}" if need.wheel else need.pin for need in chosen.requirements
    ]
    carried = wheel_files(chosen)
    told = " \\\n      ".join(f"{name}={json.dumps(text)}" for name, text in labels.items())
    token = {"token": {"env": "MCP_HOST_TOKEN"}, "subject": "client", "scopes": ["*"]}
    listening = {"host": EVERYWHERE, "port": 8000, "tokens": [token]}
    return {
        "Containerfile": _CONTAINERFILE.format(
            labels=told, wheels="COPY wheels/ wheels/\n" if carried else ""
        ).encode(),
        "requirements.txt": "".join(f"{line}\n" for line in wanted).encode(),
        "stdio.toml": tomli_w.dumps(chosen.settings).encode(),
        "http.toml": tomli_w.dumps({"http": listening, **chosen.settings}).encode(),
        ".containerignore": b"*\n!requirements.txt\n!wheels/\n!*.toml\n",
        **carried,
    }


FORMATS: Mapping[str, Callable[[Chosen, Published], Files]] = {
    "mcpb": mcpb,
    "plugin": plugin,
    "claude": claude,
    "gemini": gemini,
    "server-json": server_json,
    "container": container,
}

_CONTAINERFILE = """\
FROM docker.io/library/python:3.12-slim
LABEL {labels}
WORKDIR /build
COPY requirements.txt ./
{wheels}RUN python -m pip install --no-cache-dir --only-binary :all: -r requirements.txt \\
    && rm -rf /build \\
    && useradd --uid 10001 --no-create-home --home-dir /data mcp-host \\
    && install -d -o mcp-host -g mcp-host /data /project
COPY stdio.toml http.toml /etc/mcp-host/
ENV HOME=/data XDG_CONFIG_HOME=/data/config XDG_DATA_HOME=/data/data XDG_CACHE_HOME=/data/cache
USER 10001
WORKDIR /project
VOLUME ["/data"]
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", \
"import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["mcp-host", "serve"]
CMD ["--transport", "http", "--config", "/etc/mcp-host/http.toml"]
"""


def _about(chosen: Chosen) -> dict[str, Any]:
    return {
        "name": chosen.name,
        "version": chosen.version,
        "description": chosen.description,
        "author": {"name": chosen.author},
        "license": "MIT",
        "keywords": [HOST, *chosen.packs],
    }


def _told(tool: Mapping[str, Any]) -> dict[str, str]:
    told = {"name": tool["name"]}
    if tool.get("description"):
        told["description"] = tool["description"].strip().partition("\n")[0]
    return told


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def _zipped(files: Files) -> bytes:
    """A zip archive whose bytes depend on the files alone."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
