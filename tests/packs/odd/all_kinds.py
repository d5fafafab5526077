"""Types that JSON does not have, in a model that has itself within."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Literal, NamedTuple
from uuid import UUID

from mcp_host import hookimpl, tool
from pydantic import BaseModel


class Sky(Enum):
    CLEAR = "clear"
    GREY = "grey"


class Place(NamedTuple):
    name: str
    height: float


class Day(BaseModel):
    day: date
    at: datetime
    rain: Decimal
    sunshine: timedelta
    id: UUID
    file: Path
    sky: Sky
    places: set[str]
    hours: list[Day] = []


@tool(read_only=True, open_world=False)
def forecast(sky: Sky, day: date, how: Literal["short", "long"] = "short") -> Day:
    """Return a day's weather."""
    return Day(
        day=day,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        rain=Decimal("1.10"),
        sunshine=timedelta(hours=2),
        id=UUID(int=1),
        file=Path("weather.txt"),
        sky=sky,
        places={"Ulm"},
    )


@tool(read_only=True, open_world=False)
def place() -> Place:
    """Return where the weather is."""
    return Place("Ulm", 478.0)


@hookimpl
def mcp_host_tools():
    return [forecast, place]
