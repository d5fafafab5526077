"""A decorator that hides the parameters."""

from mcp_host import hookimpl, tool


def logged(function):
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@tool(read_only=True, open_world=False)
@logged
def forecast(city: str) -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
