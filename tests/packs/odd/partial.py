"""A tool made of a partial function."""

from functools import partial

from mcp_host import hookimpl, tool


def forecast(unit: str, city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: 20 {unit}"


celsius = partial(forecast, "C")


@hookimpl
def mcp_host_tools():
    return [tool(celsius)]
