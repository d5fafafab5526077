"""A default that is not of the kind that is annotated."""

from typing import Annotated

from mcp_host import hookimpl, tool
from pydantic import Field


@tool(read_only=True, open_world=False)
def forecast(days: Annotated[int, Field(description="Days")] = "three") -> str:
    """Return the weather of some days."""
    return "sun" * days


@hookimpl
def mcp_host_tools():
    return [forecast]
