"""Bytes that are no text."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> bytes:
    """Return tomorrow's weather."""
    return b"\x00\xff"


@hookimpl
def mcp_host_tools():
    return [forecast]
