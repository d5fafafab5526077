"""A library that nobody has."""

import no_such_library_of_anybody
from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return no_such_library_of_anybody.weather()


@hookimpl
def mcp_host_tools():
    return [forecast]
