"""A tool that is a method of a class."""

from mcp_host import hookimpl, tool


class Weather:
    @tool(read_only=True, open_world=False)
    def forecast(self) -> str:
        """Return tomorrow's weather."""
        return "sun"


@hookimpl
def mcp_host_tools():
    return [Weather.forecast]
