"""An error of the pack's own that stands for no code."""

from mcp_host import hookimpl, tool


class NoSuchCity(Exception):
    pass


@tool(read_only=True, open_world=False)
def forecast(city: str) -> str:
    """Return tomorrow's weather."""
    raise NoSuchCity(city)


@hookimpl
def mcp_host_tools():
    return [forecast]
