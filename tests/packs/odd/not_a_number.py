"""A number that JSON does not have."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> float:
    """Return tomorrow's weather."""
    return float("nan")


@hookimpl
def mcp_host_tools():
    return [forecast]
