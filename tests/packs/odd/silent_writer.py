"""A tool that deletes and does not say so."""

from mcp_host import hookimpl, tool


@tool
def forecast() -> str:
    """Delete all forecasts."""
    return "gone"


@hookimpl
def mcp_host_tools():
    return [forecast]
