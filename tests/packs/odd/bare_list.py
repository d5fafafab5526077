"""A list of nobody knows what."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(cities: list = []) -> str:  # noqa: B006
    """Return tomorrow's weather."""
    return f"{cities}: sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
