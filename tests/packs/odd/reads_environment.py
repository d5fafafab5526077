"""A variable that is read without being declared."""

import os

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return os.environ.get("WEATHER_MOOD", "sun")


@hookimpl
def mcp_host_tools():
    return [forecast]
