"""The TypedDict of typing, which pydantic takes from Python 3.12 on."""

from typing import TypedDict

from mcp_host import hookimpl, tool


class Weather(TypedDict):
    sunny: bool


@tool(read_only=True, open_world=False)
def forecast() -> Weather:
    """Return tomorrow's weather."""
    return {"sunny": True}


@hookimpl
def mcp_host_tools():
    return [forecast]
