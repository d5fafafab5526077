"""A description that names a tool that is not there."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather. Find the place with {tool:places} first."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
