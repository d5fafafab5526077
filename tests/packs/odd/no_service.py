"""A service, in a pack that opens none."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(stations, /) -> str:
    """Return tomorrow's weather."""
    return str(stations)


@hookimpl
def mcp_host_tools():
    return [forecast]
