"""The host under test with the conformance pack behind a mount: a host that mounts another."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import served

WAYS = ("stdio", "http")
EXPECTED = {"2025-11-25": 83, "2026-07-28": 152}
OUTER_TRANSPORT = {
    "server-sse-polling": (
        "one check, of 2025-11-25: a stream that the host itself ends early can be opened again; a "
        "mounted server ends its own streams, not the host's"
    ),
}
"""What is about the transport between client and host alone, so that a mount has no part in it."""


@asynccontextmanager
async def over_http(way: str, environment: Mapping[str, str], scratch: Path) -> AsyncIterator[str]:
    """Serve a mount of the host with the pack; yields the address. Raises `HostFailed`."""
    if way == "stdio":
        given = {name: environment[name] for name in environment if _is_wanted(name)}
        async with _host(_command(given), environment, scratch) as address:
            yield address
        return
    async with (
        served.over_http(environment) as inner,
        _host(f'url = "http://{inner}/mcp"\n', environment, scratch) as address,
    ):
        yield address


@asynccontextmanager
async def _host(mount: str, environment: Mapping[str, str], scratch: Path) -> AsyncIterator[str]:
    table = f'[packs.mounted]\nprefix = ""\nallow = ["sampling", "roots"]\n{mount}'
    settings = scratch / "mounted.toml"
    settings.write_text(table, encoding="utf-8")
    async with served.over_http(environment, settings) as address:
        yield address


def _command(given: Mapping[str, str]) -> str:
    variables = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    return f"command = {json.dumps(served.command('stdio'))}\n[packs.mounted.env]\n{variables}"


def _is_wanted(name: str) -> bool:
    """Whether the mounted host needs a variable: a mount's program gets but the usual ones."""
    return name == "PYTHONPATH" or name.startswith(("XDG_", "MCP_HOST_"))
