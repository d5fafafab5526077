"""A start of the host as a client would make it: read from the client's file, not from the plan.

The client's entry is read back, its references are resolved from this environment, the server gets
no other variables than the client gives, starts in a folder as the client's, and must answer within
the client's time.
"""

from __future__ import annotations

import asyncio
import json
import os
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
from .references import NotStarted, environment, resolved, variable
from .web import WebClient

TRIED = 3
"""How many tools are called until one answers."""


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
            headers = {key: resolved(value) for key, value in server.headers.items()}
            if token := server.entry.get(client.bearer or ""):
                headers["Authorization"] = f"Bearer {variable(str(token))}"
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
        resolved(server.command),
        *map(resolved, server.arguments),
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
