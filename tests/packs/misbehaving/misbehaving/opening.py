"""Packs that do not open, open late, or are lost after they opened."""

import asyncio
import os
import time
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_host import Unavailable, hookimpl, tool
from pydantic import BaseModel, ConfigDict

from .hooks import Pack


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    sign: Path = Path("sign")


@tool(read_only=True)
def service(service, /) -> str:
    """Return what was opened."""
    return service


def opening(function):
    """A pack that opens with this function, and has one tool."""
    return Pack(
        mcp_host_settings=hookimpl(lambda: Settings),
        mcp_host_open=hookimpl(asynccontextmanager(function)),
        mcp_host_tools=hookimpl(lambda: [service]),
    )


async def _raises():
    raise ConnectionError("nobody at home")
    yield


async def _exits():
    raise SystemExit(5)
    yield


async def _ends_all():
    os._exit(9)
    yield


async def _hangs():
    await asyncio.Event().wait()
    yield


async def _blocks():
    time.sleep(60)  # noqa: ASYNC251 - this is the fault
    yield


async def _swallows():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
    yield


async def _comes_back(settings):
    if not settings.sign.exists():
        raise Unavailable("there is no sign yet", suggestions=["make the sign"])
    yield settings.sign.read_text()


async def _reads_a_fifo(settings):
    yield await asyncio.to_thread(settings.sign.read_text)


async def _is_lost(settings):
    async def wait_for_the_sign():
        while not settings.sign.exists():  # noqa: ASYNC110 - the sign is a file
            await asyncio.sleep(0.01)
        settings.sign.unlink()
        raise ConnectionError("the background task died")

    async with asyncio.TaskGroup() as group:
        group.create_task(wait_for_the_sign())
        yield "there"


async def _never_ends():
    try:
        yield "there"
    finally:
        await asyncio.Event().wait()


raises = opening(_raises)
exits = opening(_exits)
ends_all = opening(_ends_all)
hangs = opening(_hangs)
blocks = opening(_blocks)
swallows = opening(_swallows)
comes_back = opening(_comes_back)
is_lost = opening(_is_lost)
never_ends = opening(_never_ends)
reads_a_fifo = opening(_reads_a_fifo)
