"""Answers that are no plain data, and have a JSON form."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Literal

from mcp_host import hookimpl, tool


class Sky(Enum):
    """How it looks."""

    SUN = "sun"


@dataclass
class Weather:
    """The weather of a place, and of places in it."""

    at: datetime
    sky: Sky
    rain: Decimal
    map: Path
    codes: set[Literal["a", 1]]
    inside: list["Weather"]


@tool(read_only=True, open_world=False)
def forecast() -> Weather:
    """Return tomorrow's weather."""
    inside = Weather(datetime.now(UTC), Sky.SUN, Decimal("0.5"), Path("x.png"), {"a", 1}, [])
    return Weather(datetime.now(UTC), Sky.SUN, Decimal("0.5"), Path("x.png"), {1}, [inside])


@hookimpl
def mcp_host_tools():
    return [forecast]
