"""A file and a print while it is imported."""

import tempfile
from pathlib import Path

from mcp_host import hookimpl, tool

print("weather is loading")
Path(tempfile.gettempdir(), "weather-odd-pack.tmp").write_text("x")


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
