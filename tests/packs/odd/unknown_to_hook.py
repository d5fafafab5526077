"""A hook that wants what it is not given."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools(pack):
    return [forecast]
