"""A parameter without an annotation."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(city) -> str:
    """Return tomorrow's weather."""
    return f"{city}: sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
