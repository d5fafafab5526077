"""A blocking call in an async tool."""

import time

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
async def forecast() -> str:
    """Return tomorrow's weather."""
    time.sleep(0.001)  # noqa: ASYNC251
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
