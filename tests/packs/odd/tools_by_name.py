"""A mapping of tools in place of a list."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return {"forecast": forecast}
