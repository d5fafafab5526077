"""Listening on an address."""

import asyncio
import socket

import pytest
from mcp_host.serving.addresses import listen

pytestmark = pytest.mark.anyio


async def test_small_answers_leave_at_once_instead_of_waiting_for_an_acknowledgement() -> None:
    undelayed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = writer.get_extra_info("socket")
        undelayed.set_result(bool(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    with listen("127.0.0.1", 0) as listening:
        async with await asyncio.start_server(accepted, sock=listening):
            await asyncio.open_connection(*listening.getsockname()[:2])
            assert await undelayed
