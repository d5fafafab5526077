"""Loops of ours keep the interpreter where many calls run, and do all else as asyncio does."""

import asyncio
import selectors
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest
from mcp_host.runtime.loop import new_asyncio_loop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have asyncio's own")

LONG = Random(5).randbytes(1_000_000)
"""More than is read or written at once."""


@pytest.fixture(autouse=True, params=[0.0005, 0.005], ids=["few calls", "many calls"])
def _interval(request: pytest.FixtureRequest) -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(request.param)
    yield
    sys.setswitchinterval(usual)


def on_a_loop(what: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=new_asyncio_loop) as runner:
        return runner.run(what())


def test_what_is_longer_than_a_piece_goes_to_and_fro_whole() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**18):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def talk() -> bytes:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            for piece in (b"", b"short", memoryview(LONG), bytearray(LONG)):
                writer.write(piece)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            return answer

    assert on_a_loop(talk) == b"short" + LONG + LONG


def test_a_connection_that_the_other_end_has_broken_raises_what_asyncio_raises() -> None:
    async def talk() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        theirs.close()
        writer.write(b"to nobody")
        await writer.drain()
        assert await reader.read() == b""
        writer.write(b"again")
        await writer.drain()

    with pytest.raises(ConnectionError):
        on_a_loop(talk)


@pytest.mark.parametrize("state", ["silent", "said", "closed", "not registered"])
def test_what_is_ready_is_told_as_by_the_library(state: str) -> None:
    from mcp_host.runtime.unblocking import UnblockingSelector

    def told(selector: selectors.BaseSelector) -> list[tuple[int, int]]:
        ours, theirs = socket.socketpair()
        copy = ours.dup()
        with selector, ours, theirs, copy:
            selector.register(ours, selectors.EVENT_READ, 1)
            selector.register(copy, selectors.EVENT_WRITE | selectors.EVENT_READ, 2)
            if state == "said":
                theirs.send(b"x")
            elif state == "closed":
                theirs.close()
            elif state == "not registered":
                selector.unregister(copy)
            return sorted((key.data, events) for key, events in selector.select(0))

    assert told(UnblockingSelector()) == told(selectors.EpollSelector())
