"""A default that looks like a secret."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(password: str = "hunter2") -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
