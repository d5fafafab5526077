"""Settings that are read again change the packs that changed, and no call is lost by it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from core_home import Hosting
from mcp_host.errors import SettingsError
from mcp_host.serving.reload.reloading import Reloading
from mcp_host.settings.loading import Settings, parse
from mcp_host.testing import Hosted

pytestmark = pytest.mark.anyio

PACK = """
import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_host import hookimpl, tool
from pydantic import BaseModel


class Settings(BaseModel, frozen=True):
    word: str = "hello"
    until: Path | None = None
    refuses: bool = False


class Service:
    def __init__(self, settings):
        self.word, self.until, self.is_open = settings.word, settings.until, True


@tool(read_only=True)
async def say(service, /) -> str:
    "Say the word."
    return service.word


@tool(read_only=True)
async def wait(service, /) -> str:
    "Say the word once a file is there."
    while not service.until.exists():
        await asyncio.sleep(0.01)
    return service.word if service.is_open else "closed"


@tool
async def go(service, /) -> str:
    "Say the word, and change something."
    return service.word


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings):
    if settings.refuses:
        raise RuntimeError("it does not open")
    service = Service(settings)
    try:
        yield service
    finally:
        service.is_open = False


@hookimpl
def mcp_host_tools():
    return [say, wait, go]
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Two packs of the same source."""
    names = {name: f"{name}_of_{tmp_path.name.replace('-', '_')}" for name in ("one", "two")}
    for module in names.values():
        (tmp_path / f"{module}.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    return names


class Changing:
    """A host's settings, as the next reload reads them."""

    def __init__(self, kit: Hosted, **tables: Any) -> None:
        self.kit = kit
        self.tables = tables
        self.reloading = Reloading(kit.host, self._read)

    def _read(self) -> Settings:
        return parse(self.tables, None)

    async def to(self, **tables: Any) -> dict[str, Any]:
        """Reload with other tables of packs."""
        host = self.tables.get("host", {})
        self.tables = {"host": {**host, **tables.pop("host", {})}, "packs": tables}
        return await self.reloading.reload()


def changing(kit: Hosted) -> Changing:
    isolation = kit.host.settings.host.isolation
    return Changing(kit, host={"isolation": isolation})


def word(text: str, **table: Any) -> dict[str, Any]:
    return {"settings": {"word": text}, **table}


async def test_only_the_pack_that_changed_is_opened_anew(
    hosted: Hosting, modules: dict[str, str]
) -> None:
    async with hosted(modules) as kit:
        before = dict(kit.host.running)

        told = await changing(kit).to(one={}, two=word("bye"))

        assert told["changed"] == ["two"]
        assert kit.host.running["one"] is before["one"]
        assert [await kit.value("one_say"), await kit.value("two_say")] == ["hello", "bye"]


async def test_packs_come_and_go_with_the_file_and_clients_hear_of_it(
    hosted: Hosting, modules: dict[str, str]
) -> None:
    async with hosted(modules, {"packs": {"two": {"enabled": False}}}) as kit:
        settings = changing(kit)
        told = await settings.to(one={"enabled": False}, two={})
        await kit.next_change()

        assert (told["opened"], told["closed"]) == (["two"], ["one"])
        assert kit.names() == ["two_say", "two_wait", "two_go"]
        assert "Unknown tool" in (await kit.error("one_say"))["error"]
        assert [pack["state"] for pack in kit.host.report()] == ["disabled", "ready"]

        assert (await settings.to(two={}))["closed"] == []
        assert list(kit.host.packs) == ["host", "two"]


async def test_a_running_call_ends_where_it_began_and_the_next_one_finds_the_new_pack(
    hosted: Hosting, modules: dict[str, str], tmp_path: Path
) -> None:
    waits = {"one": {"settings": {"until": str(tmp_path / "now")}}}
    async with hosted(modules, {"host": {"grace": 0.05}, "packs": waits}) as kit:
        running = asyncio.create_task(kit.value("one_wait"))
        await asyncio.sleep(0)  # the call has entered its pack

        await changing(kit).to(one=word("bye"), two={}, host={"grace": 0.05})
        assert await kit.value("one_say") == "bye"
        assert not running.done()
        (tmp_path / "now").touch()

        assert await running == "hello"


async def test_a_rule_of_the_host_changes_without_opening_the_pack(
    hosted: Hosting, modules: dict[str, str]
) -> None:
    async with hosted(modules) as kit:
        before = dict(kit.host.running)
        hides = {"exclude": ["wait"], "tools": {"go": {"hidden": True}}}

        told = await changing(kit).to(one=hides, two={"read_only": True})

        assert told["changed"] == ["one", "two"]
        assert {name: kit.host.running[name] for name in modules} == {
            name: before[name] for name in modules
        }
        assert kit.names() == ["one_say", "two_say", "two_wait"]
        assert (await kit.error("one_wait"))["code"] == "permission_denied"
        assert "Unknown tool" in (await kit.error("one_go"))["error"]
        assert (await kit.error("two_go"))["code"] == "permission_denied"


async def test_the_hosts_own_tools_come_and_go(
    hosted_in_threads: Hosting, modules: dict[str, str]
) -> None:
    async with hosted_in_threads(modules) as kit:
        settings = changing(kit)
        await settings.to(one={}, two={}, host={"expose": "search"})
        assert kit.names() == [
            *("host_search", "host_describe", "host_call_read_only", "host_call"),
        ]
        assert await kit.value("host_call_read_only", name="one_say", arguments={}) == "hello"

        await settings.to(one={}, two={}, host={"expose": "all"})
        assert len(kit.names()) == 6


@pytest.mark.parametrize(
    "tables",
    [
        {"one": {"settings": {"word": 5}}, "two": {}},
        {"one": {"tools": {"sai": {"hidden": True}}}, "two": {}},
        {"one": {"prefix": "x"}, "two": {"prefix": "x"}},
        {"one": {}, "two": {}, "three": {"required": True}},
    ],
    ids=["a setting of the wrong type", "an unknown tool", "a clash", "a required pack"],
)
async def test_what_could_not_be_served_changes_nothing(
    hosted: Hosting, modules: dict[str, str], tables: dict[str, Any]
) -> None:
    async with hosted(modules) as kit:
        before, names = dict(kit.host.running), kit.names()

        told = await changing(kit).to(**tables)

        assert not told["reloaded"]
        assert "could not be served as it is now" in told["error"]
        assert (kit.host.running, kit.names()) == (before, names)
        assert await kit.value("one_say") == "hello"


async def test_a_file_that_cannot_be_read_changes_nothing_and_the_next_one_does(
    hosted_in_threads: Hosting, modules: dict[str, str]
) -> None:
    async with hosted_in_threads(modules) as kit:
        settings = changing(kit)

        def refuse() -> Settings:
            raise SettingsError("mcp-host.toml: is not valid TOML")

        broken = Reloading(kit.host, refuse)
        told = await broken.reload()
        assert told["error"] == broken.about()["error"] == "mcp-host.toml: is not valid TOML"
        assert await kit.value("one_say") == "hello"

        assert (await settings.to(one=word("bye"), two={}))["reloaded"]
        assert await kit.value("one_say") == "bye"


async def test_a_pack_that_fails_alone_is_told_and_the_others_serve(
    hosted: Hosting, modules: dict[str, str]
) -> None:
    async with hosted(modules) as kit:
        told = await changing(kit).to(one={"settings": {"refuses": True}}, two={}, missing={})

        assert [line.partition(":")[0] for line in told["failed"]] == [
            "pack one is failed",
            "pack missing is failed",
        ]
        assert await kit.value("two_say") == "hello"


async def test_keys_that_need_a_restart_are_named(
    hosted_in_threads: Hosting, modules: dict[str, str]
) -> None:
    async with hosted_in_threads(modules) as kit:
        settings = changing(kit)

        told = await settings.to(one={}, two={}, host={"page_size": 1, "timeout": 1})

        assert told["after_restart"] == ["host.page_size"]
        assert (kit.host.settings.host.page_size, kit.host.settings.host.timeout) == (1000, 1)


async def test_secrets_of_the_new_settings_are_masked(
    hosted_in_threads: Hosting, modules: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEW_WORD", "a-new-secret-word")
    async with hosted_in_threads(modules) as kit:
        secrets = kit.host.settings.secrets
        await changing(kit).to(one={"settings": {"word": {"env": "NEW_WORD"}}}, two={})

        assert secrets.redact("it is a-new-secret-word") == "it is ********"
        assert "NEW_WORD" in secrets.variables
