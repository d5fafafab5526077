"""A context that is not annotated."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(context) -> str:
    """Return tomorrow's weather."""
    context.progress(1)
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
