"""A tool that goes to another folder."""

import os

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    os.chdir("/")
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
