"""Notices of packs cross processes by the bus that a pack offers with `mcp_host_bus`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from core_home import Home
from mcp_host.testing import StdioClient

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
POST = '''
"""A bus by datagrams: each process has a socket in one folder."""

import asyncio
import os
import socket
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_host import hookimpl, tool
from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    folder: str = ""
    broken: bool = False


class Post:
    def __init__(self, folder, own, broken):
        self._folder, self._own, self._broken, self._listeners = folder, own, broken, []

    async def publish(self, notices):
        if self._broken:
            raise OSError("the post is closed")
        with (self._folder / "told").open("a") as told:
            told.writelines(f"{len(notices)} {notice}\\n" for notice in notices)
        for path in self._folder.glob("*.socket"):
            for notice in notices:  # to itself as well: the host knows its own
                try:
                    self._own.sendto(notice.encode(), str(path))
                except OSError:
                    continue

    def subscribe(self, listener):
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take(self):
        notice = self._own.recv(8192).decode()
        for listener in self._listeners:
            listener(notice)


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
def mcp_host_bus(settings):
    if not settings.folder:
        return None

    @asynccontextmanager
    async def opened():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            folder = Path(settings.folder)
            own.bind(str(folder / f"{os.getpid()}-{id(own)}.socket"))
            own.setblocking(False)
            post = Post(folder, own, settings.broken)
            asyncio.get_running_loop().add_reader(own, post.take)
            try:
                yield post
            finally:
                asyncio.get_running_loop().remove_reader(own)
    return opened


@tool(read_only=True)
def heard() -> str:
    "Say nothing."
    return ""


@hookimpl
def mcp_host_tools():
    return [heard]
'''
NOTES = """
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_host import hookimpl, resource, tool
from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    file: str = ""


@resource("note://{name}")
def note(name: str) -> str:
    return name


@tool(read_only=True)
def read(service: object, /) -> str:
    "Read the file."
    return Path(service[0].file).read_text()


@tool
def write(service: object, /, text: str, times: int = 1) -> str:
    "Change the file, and say so."
    Path(service[0].file).write_text(text)
    for _ in range(times):
        service[1].changed("note://a")
    service[1].changed("note://b")
    return text


@tool
def rename(service: object, /) -> str:
    "Say that the lists are others."
    service[1].lists_changed()
    return ""


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings, pack):
    yield settings, pack


@hookimpl
def mcp_host_tools():
    return [read, write, rename]


@hookimpl
def mcp_host_resources():
    return [note]
"""


def settings(home: Home, isolation: str, **post: Any) -> None:
    """Have the home's host serve a pack that offers a bus, and another that has something to say"""
    home.add_pack("post", POST)
    home.add_pack("notes", NOTES)
    file = home.folder / "note.txt"
    file.write_text("empty")
    post = {"folder": str(home.folder), **post}
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in post.items())
    home.write(
        f'[host]\nisolation = "{isolation}"\n'
        f"[packs.post.settings]\n{table}\n"
        f"[packs.notes.settings]\nfile = {json.dumps(str(file))}\n"
        "[packs.notes.tools.read]\ncache = 3600\n"
    )


async def watch(client: StdioClient, protocol: str, *uris: str) -> None:
    if protocol == LEGACY:
        for uri in uris:
            await client.request("resources/subscribe", {"uri": uri})
        return
    wanted = {"toolsListChanged": True, "resourceSubscriptions": list(uris)}
    await client.send(client.frame("watch", "subscriptions/listen", {"notifications": wanted}))
    await client.notified("notifications/subscriptions/acknowledged")


def told(home: Home) -> list[str]:
    """What was given to the bus: how many at once, whose, and which URI."""
    lines = (home.folder / "told").read_text().splitlines()
    return [" ".join((line.split(" ")[0], *line.split(" ")[2:])) for line in lines]


@pytest.mark.parametrize(("protocol", "isolation"), [(LEGACY, "process"), (MODERN, "thread")])
async def test_what_one_process_changes_is_told_to_who_watches_in_another(
    home: Home, protocol: str, isolation: str
) -> None:
    settings(home, isolation)
    serve = ("--config", "mcp-host.toml")
    async with home.stdio(*serve) as one, home.stdio(*serve, protocol=protocol) as other:
        await other.call("post_heard")  # both are open
        await one.call("post_heard")
        assert await other.value("notes_read") == "empty"
        await watch(other, protocol, "note://a")
        async with asyncio.timeout(60):
            await one.value("notes_write", text="full", times=50)
            (notice,) = await other.notified("notifications/resources/updated")
            assert notice["params"]["uri"] == "note://a"

            assert await other.value("notes_read") == "full"  # not from its cache
            await one.value("notes_rename")
            await other.notified("notifications/tools/list_changed")
            await one.value("notes_write", text="last")  # told although the process ends
            await one.end_input()
            await other.notified("notifications/resources/updated", 2)

    assert told(home)[:2] == ["2 notes note://a", "2 notes note://b"]  # fifty at once are one
    whose = [line.partition(" ")[2] for line in told(home)[2:]]
    assert sorted(whose) == ["notes ", "notes note://a", "notes note://b"]


async def test_a_bus_that_cannot_tell_costs_no_call(home: Home) -> None:
    settings(home, "thread", broken=True)
    async with home.stdio("--config", "mcp-host.toml") as client:
        await client.call("post_heard")
        assert await client.value("notes_write", text="a") == "a"
        await client.said("changes were not told to others: OSError: the post is closed")
        assert await client.value("notes_write", text="b") == "b"


def test_a_hook_that_gives_no_function_is_refused(home: Home) -> None:
    home.add_pack("post", POST.replace("return opened", "return opened()"))
    home.write(f"[packs.post.settings]\nfolder = {json.dumps(str(Path(home.folder)))}\n")

    shown = home.run("packs", "--json", "--config", "mcp-host.toml")

    (pack,) = (one for one in json.loads(shown.out)["packs"] if one["name"] == "post")
    assert pack["code"] == "answer_invalid"
    assert "mcp_host_bus" in pack["reason"]
