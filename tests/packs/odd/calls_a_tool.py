"""A tool that calls another tool."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def sky() -> str:
    """Return the sky."""
    return "blue"


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return sky()


@hookimpl
def mcp_host_tools():
    return [forecast]
