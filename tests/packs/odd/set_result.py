"""A set as result."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(city: str) -> set[str]:
    """Return what tomorrow may bring."""
    return {city}


@hookimpl
def mcp_host_tools():
    return [forecast]
