"""A parameter's type that is there for type checkers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_host import hookimpl, tool

if TYPE_CHECKING:
    from datetime import date


@tool(read_only=True, open_world=False)
def forecast(day: date) -> str:
    """Return the weather of a day."""
    return f"{day}: sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
