"""A tool that asks at a terminal."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return input("City? ")


@hookimpl
def mcp_host_tools():
    return [forecast]
