"""An import that handles signals."""

import signal

from mcp_host import hookimpl, tool

signal.signal(signal.SIGINT, lambda *_: None)


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
