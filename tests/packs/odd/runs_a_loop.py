"""A loop within a loop."""

import asyncio

from mcp_host import hookimpl, tool


async def ask() -> str:
    return "sun"


@tool(read_only=True, open_world=False)
async def forecast() -> str:
    """Return tomorrow's weather."""
    return asyncio.run(ask())


@hookimpl
def mcp_host_tools():
    return [forecast]
