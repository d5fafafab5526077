"""What a model may call."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import tool
from pydantic import Field

from .model import Reading

if TYPE_CHECKING:
    from .service import Readings

City = Annotated[str, Field(min_length=1, max_length=100, description="City name")]
Celsius = Annotated[float, Field(ge=-90, le=60, description="Temperature in °C")]


@tool(destructive=False)
def record(readings: "Readings", /, city: City, celsius: Celsius) -> Reading:
    """Record the temperature of a city, as {tool:latest} will show it."""
    return readings.record(city, celsius)


@tool(read_only=True, timeout=5)
def latest(readings: "Readings", /, city: City) -> Reading:
    """Show the last temperature of a city."""
    return readings.latest(city)
