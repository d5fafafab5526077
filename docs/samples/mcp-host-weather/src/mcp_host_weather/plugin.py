"""What this pack answers to the host's questions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote

from mcp_host import PackHandle, Resource, Tool, hookimpl

from . import errors, resources, tools
from .service import Readings
from .settings import WeatherSettings
from .storage import ReadingFile


@hookimpl
def mcp_host_settings() -> type[WeatherSettings]:
    return WeatherSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: WeatherSettings, pack: PackHandle) -> AsyncIterator[Readings]:
    def changed(city: str) -> None:
        pack.changed("weather://cities")
        pack.changed(f"weather://cities/{quote(city, safe='')}")

    file = ReadingFile(settings.file or pack.data_dir / "readings.json")
    yield Readings(file, changed)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [tools.record, tools.latest]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [resources.cities, resources.one_city]


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {errors.UnknownCity: "not_found"}
