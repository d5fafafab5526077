"""A pattern that only an example shows how to fit."""

from typing import Annotated

from mcp_host import hookimpl, tool
from pydantic import Field


@tool(read_only=True, open_world=False)
def forecast(
    place: Annotated[str, Field(pattern="^[A-Z]+-[0-9]$", description="Place", examples=["DE-7"])],
) -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
