"""A tool that takes whatever it is given."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(**options: str) -> str:
    """Return tomorrow's weather."""
    return str(options)


@hookimpl
def mcp_host_tools():
    return [forecast]
