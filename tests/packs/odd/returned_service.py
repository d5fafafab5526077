"""A service that is returned, not yielded."""

from contextlib import asynccontextmanager

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(weather: object, /) -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    return object()


@hookimpl
def mcp_host_tools():
    return [forecast]
