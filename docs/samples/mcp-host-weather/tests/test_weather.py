"""The pack behind a real host: the same checks, deadlines and errors as in use."""

from pathlib import Path

import pytest
from mcp_host.testing import CallFailed, hosted

PACK = {"weather": "mcp_host_weather.plugin"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


def kept_in(folder: Path) -> dict[str, object]:
    return {"packs": {"weather": {"settings": {"file": str(folder / "readings.json")}}}}


async def test_a_recorded_temperature_is_the_latest_one(tmp_path: Path) -> None:
    async with hosted(PACK, kept_in(tmp_path)) as host:
        await host.value("weather_record", city="Rome", celsius=21.5)

        assert (await host.value("weather_latest", city="Rome"))["celsius"] == 21.5


async def test_readings_outlive_the_server(tmp_path: Path) -> None:
    async with hosted(PACK, kept_in(tmp_path)) as host:
        await host.value("weather_record", city="Rome", celsius=21.5)

    async with hosted(PACK, kept_in(tmp_path)) as host:
        assert await host.text("weather://cities") == "- Rome: 21.5 °C"


async def test_an_unknown_city_is_not_found_and_the_nearest_one_is_proposed(tmp_path: Path) -> None:
    async with hosted(PACK, kept_in(tmp_path)) as host:
        await host.value("weather_record", city="Rome", celsius=21.5)

        with pytest.raises(CallFailed) as failed:
            await host.value("weather_latest", city="Rom")

    assert failed.value.code == "not_found"
    assert failed.value.envelope["suggestions"] == ["Did you mean Rome?"]


async def test_a_new_temperature_is_told_to_clients_that_watch_the_city(tmp_path: Path) -> None:
    async with hosted(PACK, kept_in(tmp_path)) as host:
        await host.value("weather_record", city="São Paulo", celsius=18)

        await host.next_change("weather://cities/S%C3%A3o%20Paulo")
