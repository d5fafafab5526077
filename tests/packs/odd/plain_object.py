"""An answer that is an object of an ordinary class."""

from mcp_host import hookimpl, tool


class Weather:
    """The weather."""


@tool(read_only=True, open_world=False)
def forecast() -> Weather:
    """Return tomorrow's weather."""
    return Weather()


@hookimpl
def mcp_host_tools():
    return [forecast]
