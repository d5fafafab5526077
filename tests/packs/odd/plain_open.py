"""mcp_host_open without its decorator."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(weather: object, /) -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_open():
    yield object()


@hookimpl
def mcp_host_tools():
    return [forecast]
