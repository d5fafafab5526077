"""A hook without its marker."""

from mcp_host import tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


def mcp_host_tools():
    return [forecast]
