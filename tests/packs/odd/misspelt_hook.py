"""A hook with a wrong name."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tool():
    return [forecast]
