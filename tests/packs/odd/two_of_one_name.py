"""Two tools of one name."""

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@tool(name="forecast", read_only=True, open_world=False)
def forecast_of_today() -> str:
    """Return today's weather."""
    return "rain"


@hookimpl
def mcp_host_tools():
    return [forecast, forecast_of_today]
