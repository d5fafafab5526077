"""A coroutine that nobody awaits."""

from mcp_host import hookimpl, tool


async def ask() -> str:
    return "sun"


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return ask()  # type: ignore[return-value]


@hookimpl
def mcp_host_tools():
    return [forecast]
