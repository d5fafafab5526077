"""An import that ends the program."""

import sys

from mcp_host import hookimpl, tool

sys.exit("the sky is missing")


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
