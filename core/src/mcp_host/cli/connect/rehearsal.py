"""A start of the host as a client would make it: read from the client's file, not from the plan.

The client's entry is read back, its references are resolved from this environment, the server gets
no other variables than the client gives, starts in a folder as the client's, and must answer within
the client's time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...clients.changes import entry_in
from ...clients.client import Client, ClientFileError
from ...clients.reading import ClientServer, server_of
from ...testing import ServerExited, StdioClient
from ...testing.hosting import CallFailed
from .web import WebClient

PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
PASSED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "PROGRAMFILES",
)  # fmt: skip
"""What clients give a server of their own environment: the list of the protocol's own SDKs."""
TRIED = 3
"""How many tools are called until one answers."""
REFERENCE = re.compile(
    r"\$\{\{\s*secrets\.(\w+)\s*\}\}|\$\{(?:env:|input:)?(\w+)\}|\{env:(\w+)\}|\$(\w+)"
)


class NotStarted(Exception):
    """The host did not begin as the client would need it; says why."""


@dataclass(frozen=True)
class Rehearsal:
    """What came of a start: how long it took, what was listed, and the call that was made."""

    seconds: float = 0.0
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    called: str = ""
    answered: str = ""
    failure: str = ""
    how: str = "starts"

    def __str__(self) -> str:
        if self.failure:
            return self.failure
        call = f"; {self.called} {self.answered}" if self.called else ""
        return (
            f"{self.how} in {self.seconds:.1f} s with {_counted(self.tools, 'tool')}, "
            f"{_counted(self.resources, 'resource')} and {_counted(self.prompts, 'prompt')}{call}"
        )


def rehearse(client: Client, path: Path, name: str, project: Path | None = None) -> Rehearsal:
    """Start or reach the host as the client would by its file, and end it again."""
    try:
        entry = entry_in(client, path, name)
        if entry is None:
            raise NotStarted(f"{path} has no entry {name}")
        server = server_of(client, path, name, entry)
        return asyncio.run(_bounded(client, server, project))
    except (NotStarted, ClientFileError) as error:
        return Rehearsal(failure=str(error))


async def _bounded(client: Client, server: ClientServer, project: Path | None) -> Rehearsal:
    """One rehearsal within the time that the client has."""
    try:
        async with asyncio.timeout(client.seconds):
            return await _rehearsed(client, server, project)
    except TimeoutError:
        raise NotStarted(
            f"the host did not answer within {client.seconds} s, which is as long as "
            f"{client.title} waits: `mcp-host doctor` says which pack is slow"
        ) from None
    except ServerExited as error:
        said = _last_lines(str(error).partition("it said:")[2])
        raise NotStarted(f"the host ended at its start{f': {said}' if said else ''}") from None
    except CallFailed as error:
        raise NotStarted(f"the host answered with an error: {error}") from None
    except (OSError, ValueError) as error:
        raise NotStarted(f"{server.command or server.url} cannot be used: {error}") from None


async def _rehearsed(client: Client, server: ClientServer, project: Path | None) -> Rehearsal:
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        if server.command:
            speaker: StdioClient | WebClient = await _started(stack, client, server, project)
        else:
            headers = {key: _resolved(value) for key, value in server.headers.items()}
            if token := server.entry.get(client.bearer or ""):
                headers["Authorization"] = f"Bearer {_variable(str(token))}"
            speaker = WebClient(server.url, headers)
        await speaker.handshake()
        tools = await _listed(speaker, "tools")
        seconds = time.monotonic() - began
        resources = await _listed(speaker, "resources")
        prompts = await _listed(speaker, "prompts")
        called, answered = await _tried(speaker, tools)
    if not tools and not prompts:
        raise NotStarted(
            f"the host serves no tools and no prompts: `mcp-host doctor` says why ({seconds:.1f} s)"
        )
    how = "starts" if server.command else "is reached"
    found = (len(tools), len(resources), len(prompts))
    return Rehearsal(seconds, *found, called, answered, how=how)


async def _started(
    stack: AsyncExitStack, client: Client, server: ClientServer, project: Path | None
) -> StdioClient:
    folder = project or (Path(tempfile.gettempdir()) if client.folder == "project" else Path.home())
    process = await asyncio.create_subprocess_exec(
        _resolved(server.command),
        *map(_resolved, server.arguments),
        cwd=server.folder or folder,
        env=environment(client, server, os.environ),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    speaker = StdioClient(process, "2025-11-25", None)
    stack.push_async_callback(speaker.close)
    return speaker


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
        raise NotStarted(_unset(missing[0]))
    return given | {key: _resolved(value, ours) for key, value in server.environment.items()}


def _resolved(text: str, ours: Mapping[str, str] | None = None) -> str:
    """A text of an entry with the values of the variables that it refers to."""
    return REFERENCE.sub(lambda found: _variable(next(filter(None, found.groups())), ours), text)


def _variable(name: str, ours: Mapping[str, str] | None = None) -> str:
    given = os.environ if ours is None else ours
    if name not in given:
        raise NotStarted(_unset(name))
    return given[name]


def _unset(name: str) -> str:
    return f"the entry refers to {name}, which is not set here: set it where the client is started"


async def _listed(speaker: StdioClient | WebClient, what: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await speaker.request(f"{what}/list", cursor)
        items += page[what]
        if "nextCursor" not in page:
            return items
        cursor = {"cursor": page["nextCursor"]}


def _is_harmless(tool: Mapping[str, Any]) -> bool:
    """Whether a tool can be called without asking: it only reads, and needs no argument."""
    annotations = tool.get("annotations") or {}
    needs = tool.get("inputSchema", {}).get("required")
    return annotations.get("readOnlyHint") is True and not needs


async def _tried(speaker: StdioClient | WebClient, tools: list[dict[str, Any]]) -> tuple[str, str]:
    """Call a tool that only reads and needs no argument: the first that answers, of three."""
    harmless = [tool["name"] for tool in tools if _is_harmless(tool)]
    told = ("", "")
    for name in harmless[:TRIED]:
        result = await speaker.request("tools/call", {"name": name, "arguments": {}})
        if not result.get("isError"):
            return name, "answers"
        told = told if told[0] else (name, f"answers with an error: {_error(result)}")
    return told


def _error(result: Mapping[str, Any]) -> str:
    text = "".join(part.get("text", "") for part in result.get("content", ()))
    with suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["error"])
    return _last_lines(text)


def _last_lines(text: str, most: int = 300) -> str:
    line = " ".join(line.strip() for line in text.strip().splitlines()[-2:])
    return line if len(line) <= most else f"…{line[-most:]}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
