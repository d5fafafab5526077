"""Annotations that a future import makes texts."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_host import hookimpl, tool


@dataclass
class Weather:
    city: str
    sunny: bool


@tool(read_only=True, open_world=False)
def forecast(city: str) -> Weather:
    """Return tomorrow's weather."""
    return Weather(city, True)


@hookimpl
def mcp_host_tools():
    return [forecast]
