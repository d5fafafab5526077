"""The fixture `host`, whatever runs the tests."""

import asyncio

import pytest
from mcp_host.testing import Person
from mcp_host.testing.fixtures import host, mcp_host_tables

__all__ = ["host", "mcp_host_tables"]


@pytest.fixture
def mcp_host_packs(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "tests" / "packs" / "odd")
    return {"weather": "question_with_service"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_it_is_called_as_a_host_on_the_same_loop_is(host):
    asked = host.seen_by(person=Person())

    assert host.names() == ["weather_forecast"]
    assert await asked.value("weather_forecast", city="Rome") == "north of Rome: sun"
    assert (await host.error("weather_forecast"))["code"] == "validation_error"


def test_it_needs_no_plugin_that_runs_coroutines(host):
    async def calls():
        return await asyncio.gather(*(host.text("host://packs") for _ in range(3)))

    assert all('"weather"' in text for text in asyncio.run(calls()))
