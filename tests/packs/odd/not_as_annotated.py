"""A list of numbers that is a text."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> list[int]:
    """Return tomorrow's temperatures."""
    return "12, 14"


@hookimpl
def mcp_host_tools():
    return [forecast]
