"""A name that clients refuse."""

from mcp_host import hookimpl, tool


@tool(name="get weather!", read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
