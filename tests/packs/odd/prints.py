"""A print in a tool."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(city: str) -> str:
    """Return tomorrow's weather."""
    print("asked for", city)
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
