"""A tool that does not say what it returns."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast():
    """Return tomorrow's weather."""
    return {"sunny": True}


@hookimpl
def mcp_host_tools():
    return [forecast]
