"""A parameter that is a tuple."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(place: tuple[float, float]) -> str:
    """Return tomorrow's weather at a latitude and longitude."""
    return f"{place}: sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
