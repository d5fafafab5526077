"""An import that sets up the log of the whole process."""

import logging

from mcp_host import hookimpl, tool

logging.basicConfig(level=logging.DEBUG)


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
