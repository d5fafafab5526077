"""A choice of nothing."""

from typing import Annotated

from mcp_host import Ask, Choice, hookimpl, tool


def which() -> Choice:
    return Choice("Which city?", [])


@tool(read_only=True, open_world=False)
def forecast(city: Annotated[str, Ask(which)]) -> str:
    """Return tomorrow's weather."""
    return city


@hookimpl
def mcp_host_tools():
    return [forecast]
