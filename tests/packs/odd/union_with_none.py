"""A result that may be None, and a parameter too."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(city: str, day: int | None = None) -> dict[str, int] | None:
    """Return tomorrow's temperatures."""
    return None if day is None else {city: day}


@hookimpl
def mcp_host_tools():
    return [forecast]
