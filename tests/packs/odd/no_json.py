"""A dict whose values have no JSON form."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> dict:
    """Return tomorrow's weather."""
    return {"station": object()}


@hookimpl
def mcp_host_tools():
    return [forecast]
