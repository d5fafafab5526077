"""A tool without a docstring."""

from typing import Annotated

from mcp_host import hookimpl, tool
from pydantic import Field


@tool(read_only=True, open_world=False)
def forecast(city: Annotated[str, Field(description="City")]) -> str:
    return f"{city}: sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
