"""Protocol extensions (SEP-2133): declared by packs, advertised, served, and known of clients."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller, Extension, Subscriptions, method
from mcp_host.declarations.errors import DeclarationError
from mcp_host.errors import ProtocolError
from mcp_host.testing import CallFailed, StdioClient

pytestmark = pytest.mark.anyio

PACK = """
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from mcp_host import Context, Extension, NotFound, hookimpl, method, tool
from pydantic import Field

WEATHER = "com.example/weather"


class Service:
    def __init__(self):
        self.places = []


@dataclass
class Forecast:
    city: str
    degrees: float


@method("com.example/forecast", read_only=True, timeout=20)
async def forecast(
    service: Service, /, city: Annotated[str, Field(min_length=2)], context: Context
) -> Forecast:
    if city == "Nowhere":
        raise NotFound("no such city", suggestions=["Rome"])
    told = context.extension(WEATHER)
    return Forecast(city, 20.5 if told == {"unit": "C"} else 68.9)


@method("com.example/watch", read_only=True)
async def watch_places(places: list[str], context: Context) -> dict:
    for place in places:
        context.notify("notifications/com.example/storm", {"place": place})
    return {"watched": len(places)}


@tool(read_only=True)
def storms(context: Context, name: str = "notifications/com.example/storm", size: int = 1) -> str:
    "Tell of storms on the way."
    try:
        context.notify(name, {"place": "x" * size})
    except ValueError as error:
        return str(error)
    return "told"


@method("com.example/places", read_only=True)
def places(service: Service, /) -> dict:
    return {"places": service.places}


@method("notifications/com.example/moved")
def moved(service: Service, /, place: str) -> None:
    service.places.append(place)


@tool(read_only=True)
def has_it(context: Context) -> dict:
    "Say which extension the client has."
    return {"weather": context.extension(WEATHER), "other": context.extension("com.example/other")}


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    yield Service()


@hookimpl
def mcp_host_tools():
    return [has_it, storms]


@hookimpl
def mcp_host_extensions():
    return [Extension(WEATHER, {"units": ["C", "F"]}, [forecast, places, watch_places], [moved],
                      sends=["notifications/com.example/storm"])]
"""
WEATHER = "com.example/weather"
EXTENDED = {"extended": "extended_pack"}


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "extended_pack.py").write_text(PACK)
    info = tmp_path / "extended_pack-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extended-pack\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mcp_host.packs]\nextended = extended_pack\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "extended_pack", raising=False)


STORM = "notifications/com.example/storm"


class Knowing:
    """A client that has the extension."""

    @property
    def capabilities(self) -> dict[str, Any]:
        return {"extensions": {WEATHER: {"unit": "C"}}}

    def answer(self, question: Any) -> Any:
        raise AssertionError(question)


def _told(client: StdioClient) -> list[dict[str, Any]]:
    heard = [frame for frame in client.notifications if frame["method"] == STORM]
    return [{"place": frame["params"]["place"]} for frame in heard]


SETTINGS = '[host]\nisolation = "{}"\n[packs.extended]\nenabled = true\n'


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_an_extension_is_advertised_and_served_in_both_eras(
    machine: Any, tmp_path: Path, protocol: str, isolation: str
) -> None:
    settings, options = SETTINGS.format(isolation), {"packs": [tmp_path], "protocol": protocol}
    client: StdioClient
    for _ in ("without a saved catalogue", "with one"):
        async with machine.serve(settings, person=Knowing(), **options) as client:
            # Once the pack has been imported, whatever the process of its own takes.
            got = await client.value("extended_has_it")
            assert got == {"weather": {"unit": "C"}, "other": None}
            assert await client.request("com.example/forecast", {"city": "Rome"}) | {
                "resultType": None,
                "_meta": None,
            } == {"city": "Rome", "degrees": 20.5, "resultType": None, "_meta": None}
            with pytest.raises(CallFailed) as missing:
                await client.request("com.example/forecast", {"city": "Nowhere"})
            assert missing.value.envelope["code"] == "not_found"
            assert missing.value.envelope["suggestions"] == ["Rome"]
            with pytest.raises(CallFailed, match="city"):
                await client.request("com.example/forecast", {"city": "R"})
            unknown = await client.raw_request("com.example/unknown", {})
            assert unknown["error"]["code"] == -32601

            notice = client.frame(0, "notifications/com.example/moved", {"place": "Oslo"})
            del notice["id"]
            await client.send(notice)
            for _ in range(200):
                if (await client.request("com.example/places"))["places"] == ["Oslo"]:
                    break
            assert (await client.request("com.example/places"))["places"] == ["Oslo"]

    async with machine.serve(settings, **options) as client:
        assert await client.value("extended_has_it") == {"weather": None, "other": None}
        found = await client.request("com.example/forecast", {"city": "Rome"})
        assert found["degrees"] == 68.9
        if protocol == "2026-07-28":
            told = (await client.request("server/discover"))["capabilities"]
            assert told["extensions"] == {WEATHER: {"units": ["C", "F"]}}


@pytest.mark.skipif(os.name == "nt", reason="a named pipe holds the import up")
@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_a_method_waits_for_its_pack_that_is_imported_late(
    machine: Any, tmp_path: Path, protocol: str
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "extended_pack.py").write_text(f"open({str(gate)!r}).close()\n{PACK}")
    client: StdioClient
    options = {"packs": [tmp_path], "protocol": protocol}
    async with machine.serve(SETTINGS.format("thread"), **options) as client:
        await client.raw_request("logging/setLevel", {"level": "info"})  # the SDK is loaded for it
        asked = asyncio.create_task(client.request("com.example/forecast", {"city": "Rome"}))
        assert (await client.request("tools/list"))["tools"] == []
        assert not asked.done()
        await asyncio.to_thread(lambda: gate.open("w").close())
        assert (await asked)["degrees"] == 68.9


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_a_call_sends_notifications_of_an_extension_to_a_client_that_has_it(
    machine: Any, tmp_path: Path, protocol: str, isolation: str
) -> None:
    settings, options = SETTINGS.format(isolation), {"packs": [tmp_path], "protocol": protocol}
    client: StdioClient
    async with machine.serve(settings, person=Knowing(), **options) as client:
        assert await client.value("extended_storms") == "told"
        assert _told(client) == [{"place": "x"}]
        found = await client.request("com.example/watch", {"places": ["Oslo", "Rome"]})
        assert found["watched"] == 2
        assert _told(client)[1:] == [{"place": "Oslo"}, {"place": "Rome"}]

        assert "must stand in `sends`" in await client.value(
            "extended_storms", name="notifications/tools/list_changed"
        )
        assert "at most 65536 bytes" in await client.value("extended_storms", size=70_000)
        assert len(_told(client)) == 3

    async with machine.serve(settings, **options) as client:
        assert await client.value("extended_storms") == "told"
        assert _told(client) == []


async def test_what_is_told_first_tells_of_extensions(machine: Any, tmp_path: Path) -> None:
    settings = SETTINGS.format("thread")
    client: StdioClient
    for _ in range(10):  # until the pack was imported in time, or its catalogue was saved
        async with machine.serve(settings, packs=[tmp_path]) as client:
            told = client.initialized["capabilities"]
            await client.value("extended_has_it")
        if "extensions" in told:
            break
    assert told["extensions"] == {WEATHER: {"units": ["C", "F"]}}


async def test_policy_and_scopes_hold_for_methods(hosted: Hosting) -> None:
    reader = Caller(subject="r", scopes=frozenset({"extended:read"}))
    async with hosted(EXTENDED) as host:
        context = host.host.context(reader)
        assert await host.host.call_method("com.example/places", {}, context) | {"_meta": None} == {
            "places": [],
            "_meta": None,
        }
        with pytest.raises(ProtocolError, match="needs the scope"):
            await host.host.call_method("notifications/com.example/moved", {"place": "x"}, context)

    async with hosted(EXTENDED, {"packs": {"extended": {"read_only": True}}}) as host:
        context = host.host.context()
        with pytest.raises(ProtocolError, match="only reading"):
            await host.host.call_method("notifications/com.example/moved", {"place": "x"}, context)


async def test_two_packs_with_one_extension_clash(hosted: Hosting, tmp_path: Path) -> None:
    (tmp_path / "rival_pack.py").write_text(PACK)
    async with hosted({**EXTENDED, "other": "rival_pack"}) as host:
        first, second = host.host.packs["extended"].condition, host.host.packs["other"].condition
        if first.state == "failed":  # on a busy machine a process may come late
            first, second = second, first

        assert (first.state, second.state, second.code) == ("ready", "failed", "name_clash")
        assert WEATHER in second.reason


def test_what_cannot_be_an_extension_is_refused() -> None:
    @method("tools/list")
    def shadow() -> dict[str, Any]:
        return {}

    @method("com.example/place", named_by="place")
    def named(place: str) -> dict[str, Any]:
        return {"place": place}

    wrong = {
        "must be like 'com.example/weather'": Extension("weather"),
        "settings must be an object of JSON": Extension(WEATHER, {"a": object()}),
        "skills_at must name {pack} and {name}": Extension(WEATHER, skills_at="skill://x"),
        "must have a name of its own": Extension(WEATHER, methods=[shadow]),
        "a @method with named_by": Extension(
            WEATHER, subscriptions=Subscriptions("places", "notifications/x", shadow, shadow)
        ),
        "must be a new name": Extension(
            WEATHER,
            subscriptions=Subscriptions("resourceSubscriptions", "notifications/x", named, named),
        ),
        "must be one of its methods": Extension(
            WEATHER, subscriptions=Subscriptions("places", "notifications/x", named, named)
        ),
        "are made with @method": Extension(WEATHER, methods=["x"]),  # type: ignore[list-item]
    }
    for words, extension in wrong.items():
        with pytest.raises(DeclarationError, match=words):
            extension.verify()
