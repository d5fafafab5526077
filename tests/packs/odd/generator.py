"""A tool that yields its answer."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast():
    """Return tomorrow's weather, hour by hour."""
    yield "sun"
    yield "rain"


@hookimpl
def mcp_host_tools():
    return [forecast]
