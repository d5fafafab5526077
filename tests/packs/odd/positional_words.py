"""What the message is followed by, given by position."""

from contextlib import asynccontextmanager

from mcp_host import NotFound, hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(stations: object, /, city: str) -> str:
    """Return tomorrow's weather."""
    raise NotFound(f"No city {city}", ["Rome", "Oslo"])


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    pack.degraded("no key is set", "not_set_up", "set the key")
    yield object()


@hookimpl
def mcp_host_tools():
    return [forecast]
