"""A tool that ends the program."""

import sys

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    sys.exit(2)


@hookimpl
def mcp_host_tools():
    return [forecast]
