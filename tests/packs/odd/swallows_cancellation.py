"""An except that also catches the cancellation."""

import asyncio

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
async def forecast() -> str:
    """Return tomorrow's weather."""
    try:
        await asyncio.sleep(0.001)
    except:  # noqa: E722
        return "unknown"
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
