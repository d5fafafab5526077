"""What a client may read."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import Complete, resource

if TYPE_CHECKING:
    from .service import Readings


def known(readings: "Readings", /, value: str) -> list[str]:
    """Propose cities while a person types."""
    return [city for city in readings.cities() if city.lower().startswith(value.lower())]


@resource("weather://cities", mime="text/markdown")
def cities(readings: "Readings", /) -> str:
    """Every city with its last temperature."""
    rows = (readings.latest(city) for city in readings.cities())
    return "\n".join(f"- {row.city}: {row.celsius:g} °C" for row in rows)


@resource("weather://cities/{city}", mime="text/markdown")
def one_city(readings: "Readings", /, city: Annotated[str, Complete(known)]) -> str:
    """The last temperature of one city."""
    row = readings.latest(city)
    return f"{row.celsius:g} °C in {row.city}, taken {row.taken:%Y-%m-%d %H:%M} UTC"
