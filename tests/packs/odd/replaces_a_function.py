"""An import that replaces what all packs use."""

import os

from mcp_host import hookimpl, tool

os.getlogin = lambda: "me"


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
