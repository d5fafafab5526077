"""An import that fails without a variable."""

import os

from mcp_host import hookimpl, tool

PLACE = os.environ["WEATHER_PLACE_THAT_IS_NOT_SET"]


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
