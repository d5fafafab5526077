"""A question that takes the service."""

from contextlib import asynccontextmanager
from typing import Annotated

from mcp_host import Ask, Choice, hookimpl, tool


def which(stations: list[str], /, city: str) -> Choice:
    return Choice(f"Which station of {city}?", stations)


@tool(read_only=True, open_world=False)
def forecast(stations: list[str], /, city: str, station: Annotated[str, Ask(which)]) -> str:
    """Return tomorrow's weather at a station."""
    return f"{station} of {city}: sun"


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    yield ["north", "south"]


@hookimpl
def mcp_host_tools():
    return [forecast]
