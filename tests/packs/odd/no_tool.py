"""A plain function in place of a tool."""

from mcp_host import hookimpl


def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
