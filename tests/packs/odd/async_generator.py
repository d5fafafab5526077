"""An async tool that yields its answer."""

from collections.abc import AsyncIterator

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
async def forecast() -> AsyncIterator[str]:
    """Return tomorrow's weather, hour by hour."""
    yield "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
