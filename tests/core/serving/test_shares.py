"""Over HTTP each caller has a share: what one takes up is nothing that another lacks."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
from core_home import Home
from core_web import THREE_CALLERS, TOKENS, Web
from mcp_host.testing import HttpServer

SETTINGS = f"""
[host]
max_answer_bytes = 20_000_000
{THREE_CALLERS}[http.limits]
calls_per_minute = 12
streams = 2
body_bytes = 4096
answer_bytes = 300_000
[packs.desk]
[packs.large]
"""
LARGE = '''
from mcp_host import hookimpl, tool


@tool(read_only=True)
def letters(count: int) -> str:
    """Many letters."""
    return "x" * count


@hookimpl
def mcp_host_tools():
    return [letters]
'''


@pytest.fixture(scope="module")
async def served(make_home: Callable[[], Home]) -> AsyncIterator[HttpServer]:
    """A server on which one caller can do little at once."""
    home = make_home()
    home.add_pack("large", LARGE)
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", env=TOKENS) as server:
        yield server


def refused(answer: Any) -> dict[str, Any]:
    """The details of a request too many."""
    assert answer.status_code == 429
    data = answer.json()["error"]["data"]
    assert data["code"] == "busy" and data["retryable"]
    assert answer.headers["retry-after"] == str(data["details"]["retry_after"])
    details: dict[str, Any] = data["details"]
    return details


async def test_streams_are_counted_for_each_caller(served: HttpServer) -> None:
    watch = {"notifications": {"toolsListChanged": True}}
    async with (
        Web(served.url, TOKENS["ANN"]) as ann,
        Web(served.url, TOKENS["BOB"]) as bob,
        AsyncExitStack() as stack,
        asyncio.timeout(60),
    ):
        kept = []  # one that nobody refers to any more is closed
        for _ in range(2):
            frames = await stack.enter_async_context(ann.stream("subscriptions/listen", **watch))
            await anext(frames)
            kept.append(frames)
        frame, headers = ann.modern("subscriptions/listen", watch)

        details = refused(await ann.http.post(ann.url, json=frame, headers=headers))

        assert details["limit"] == "streams"
        async with bob.stream("subscriptions/listen", **watch) as frames:
            assert await anext(frames)


async def test_bodies_and_answers_that_one_caller_leaves_lying_are_bounded(
    served: HttpServer,
) -> None:
    place = urlsplit(served.url)
    async with (
        Web(served.url, TOKENS["ANN"]) as ann,
        Web(served.url, TOKENS["BOB"]) as bob,
        asyncio.timeout(60),
    ):
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        head = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer "
        head += f"{TOKENS['ANN']}\r\nContent-Type: application/json\r\nContent-Length: 4090\r\n\r\n"
        writer.write(head.encode() + b" " * 10)
        await writer.drain()

        while (answer := await ann.post({"jsonrpc": "2.0"})).status_code != 429:
            continue  # until the server has seen the first

        assert refused(answer)["limit"] == "body_bytes"
        assert len(await bob.value("large_letters", count=5)) == 5
        writer.close()
        while (await ann.post({"jsonrpc": "2.0"})).status_code == 429:
            continue  # until the server has seen that the first is gone

        large = {"count": 10_000_000}  # more than the system's buffers of a connection take
        frame, headers = ann.modern("tools/call", {"name": "large_letters", "arguments": large})
        body = json.dumps(frame).encode()
        lines = [f"{name}: {value}" for name, value in headers.items()]
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        slow.connect((place.hostname, place.port))
        reader, writer = await asyncio.open_connection(sock=slow, limit=1024)
        start = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        writer.write(start.encode() + body)
        assert await reader.readexactly(12) == b"HTTP/1.1 200"  # and nobody reads on

        while (answer := await ann.post({"jsonrpc": "2.0"})).status_code != 429:
            continue
        assert refused(answer)["limit"] == "answer_bytes"
        assert len(await bob.value("large_letters", count=500_000)) == 500_000
        while await reader.read(65536):
            if (await ann.post({"jsonrpc": "2.0"})).status_code != 429:
                break  # it was taken
        writer.close()


async def test_calls_are_counted_by_the_minute_for_each_caller(served: HttpServer) -> None:
    async with Web(served.url, TOKENS["CY"]) as cy, Web(served.url, TOKENS["BOB"]) as bob:
        answers = [await cy.call("large_letters", count=1) for _ in range(20)]

        late = [json.loads(a["result"]["content"][0]["text"]) for a in answers[12:]]
        assert not any(answer["result"].get("isError") for answer in answers[:12])
        assert {one["details"]["reason"] for one in late} == {"too_many_calls_a_minute"}
        assert all(1 <= one["details"]["retry_after"] <= 60 for one in late)
        assert await bob.value("large_letters", count=1) == "x"
