"""Streamable HTTP: ids that are no ids or are in use, and how much clients may take up."""

import asyncio
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from core_home import Home
from core_web import LEGACY, THREE_CALLERS, TOKENS, Session, Web, event_ids, frames
from mcp_host.testing import HttpServer

SETTINGS = f"""
{THREE_CALLERS}[http.limits]
sessions = 3
sessions_total = 5
replay_bytes = 8192
replay_bytes_total = 10240
[packs.desk]
timeout = 60
"""


@pytest.fixture(scope="module")
async def served(make_home: Callable[[], Home]) -> AsyncIterator[HttpServer]:
    """A server that knows three callers and has little room."""
    home = make_home()
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", env=TOKENS) as server:
        yield server


@asynccontextmanager
async def sessions_of(server: HttpServer, *names: str) -> AsyncIterator[list[Session]]:
    """A session of each of these callers, which are ended afterwards."""
    async with AsyncExitStack() as stack:
        begun = []
        for name in names:
            web = await stack.enter_async_context(Web(server.url, TOKENS[name]))
            begun.append(await web.session())
        yield begun
        for session in begun:
            await end(session)


async def end(session: Session) -> None:
    answer = await session.web.http.delete(
        session.web.url, headers={**session.web.headers, **session.headers}
    )
    assert answer.status_code == 200


async def begin(web: Web) -> Any:
    """The answer to an `initialize`."""
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "w", "version": "0"},
    }
    return await web.post({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": params})


@pytest.mark.parametrize("wrong", ["true", "1.5", "null", "[1]", "{}"])
async def test_an_id_that_is_no_id_is_answered_with_an_error(
    served: HttpServer, wrong: str
) -> None:
    body = f'{{"jsonrpc": "2.0", "id": {wrong}, "method": "tools/list"}}'

    async with sessions_of(served, "ANN") as [session]:
        headers = {**session.web.headers, **session.headers, "Content-Type": "application/json"}
        answer = await session.web.http.post(session.web.url, content=body, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["id"] is None
    assert answer.json()["error"]["code"] == -32600
    assert "id must be a string or an integer" in answer.json()["error"]["message"]


async def test_an_id_is_refused_while_the_request_that_has_it_is_not_answered(
    served: HttpServer,
) -> None:
    held = {"name": "desk_hold", "arguments": {"gate": "first"}}
    async with sessions_of(served, "ANN", "BOB") as [session, other]:
        async with session.stream("tools/call", **held) as news:
            await session.web.value("desk_reached", gate="first")

            again = await session.request("tools/list", id=9)
            as_text = await session.web.post(
                {"jsonrpc": "2.0", "id": "9", "method": "tools/list"}, **session.headers
            )
            elsewhere = await other.request("tools/list", id=9)
            await session.web.value("desk_let_go", gate="first")
            answer = await anext(news)
        afterwards = await session.request("tools/list", id=9)

    for refused, id in ((again, 9), (as_text, "9")):
        assert refused.status_code == 409
        assert refused.json()["id"] == id
        assert "is in use" in refused.json()["error"]["message"]
    assert "result" in frames(elsewhere.text)[-1]
    assert answer["result"]["content"][0]["text"] == "first"
    assert "result" in frames(afterwards.text)[-1]


async def test_an_id_is_free_again_once_its_request_was_cancelled_or_refused(
    served: HttpServer,
) -> None:
    held = {"name": "desk_hold", "arguments": {"gate": "second"}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    async with sessions_of(served, "ANN") as [session]:
        async with session.stream("tools/call", **held) as news:
            await session.web.value("desk_reached", gate="second")
            await session.web.post(cancel, **session.headers)
            async with asyncio.timeout(30):
                rest = [frame async for frame in news]
        unacceptable = await session.web.post(
            {"jsonrpc": "2.0", "id": 9, "method": "tools/list"},
            **{**session.headers, "Accept": "text/html"},
        )
        afterwards = await session.request("tools/list", id=9)

    assert "error" in rest[-1]
    assert unacceptable.status_code == 406
    assert "result" in frames(afterwards.text)[-1]


async def test_nobody_occupies_an_id_of_somebody_elses_session(served: HttpServer) -> None:
    held = {"name": "desk_hold", "arguments": {"gate": "third"}}
    async with sessions_of(served, "ANN") as [session], Web(served.url, TOKENS["BOB"]) as bob:
        stranger = Session(bob, session.id, {"result": {"capabilities": {}}})
        async with session.stream("tools/call", **held) as news:
            await session.web.value("desk_reached", gate="third")
            told = await stranger.request("tools/list", id=9)
            await session.web.value("desk_let_go", gate="third")
            await anext(news)

    assert told.status_code == 404


async def test_a_subject_has_so_many_sessions_and_the_others_keep_their_room(
    served: HttpServer,
) -> None:
    async with sessions_of(served, "ANN", "ANN", "ANN") as [first, *_]:
        refused = await begin(first.web)
        async with sessions_of(served, "BOB", "BOB"), Web(served.url, TOKENS["CY"]) as cy:
            full = await begin(cy)
        still = await first.call("desk_greet", name="Ann")
    async with sessions_of(served, "ANN") as [again]:
        assert again.id is not None

    assert (refused.status_code, full.status_code) == (429, 503)
    for answer, key in ((refused, "sessions"), (full, "sessions_total")):
        assert answer.json()["id"] == 5
        envelope = answer.json()["error"]["data"]
        assert (envelope["code"], envelope["retryable"]) == ("busy", True)
        assert envelope["details"] == {"reason": "too_many_sessions", "retry_after": 5}
        assert answer.headers["retry-after"] == "5"
        assert f"[http.limits] {key} " in envelope["error"]
    assert still["result"]["content"][0]["text"] == "Hello Ann."


async def test_callers_without_a_token_are_one_subject(home: Home) -> None:
    home.write("[http.limits]\nsessions = 2\n[packs.desk]\n")

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url) as web:
        begun = [(await begin(web)).status_code for _ in range(3)]

    assert begun == [200, 200, 429]


async def is_kept(session: Session, answer: Any) -> bool:
    """Whether a client can take up the stream of an answer from its beginning."""
    _, _, stream = event_ids(answer.text)[0].partition("_")
    headers = {**session.web.headers, **session.headers, "Last-Event-ID": f"0_{stream}"}
    async with session.web.http.stream("GET", session.web.url, headers=headers) as taken_up:
        return "Hello" in await anext(taken_up.aiter_text())


async def say(session: Session, id: int, length: int) -> Any:
    """The answer to a call that says as much, in a stream: the lane leaves this client."""
    params = {"name": "desk_greet", "arguments": {"name": "x" * length}}
    frame = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    return await session.web.post(frame, **session.headers, Accept="*/*")


async def test_a_session_keeps_so_many_bytes_for_a_client_whose_stream_broke(
    served: HttpServer,
) -> None:
    async with sessions_of(served, "ANN") as [session]:
        sizes = (3000, 3000, 3000, 20_000)  # the last is more than is kept: it takes nobody's place
        answers = [await say(session, id, size) for id, size in enumerate(sizes, 1)]

        kept = [await is_kept(session, answer) for answer in answers]

    assert kept == [False, True, True, False]


async def test_the_session_that_keeps_most_makes_room_for_the_others(served: HttpServer) -> None:
    async with sessions_of(served, "ANN", "BOB", "CY") as [much, some, little]:
        answers = [await say(much, 1, 7000), await say(some, 1, 3000), await say(little, 1, 3000)]

        kept = [
            await is_kept(session, answer)
            for session, answer in zip((much, some, little), answers, strict=True)
        ]

    assert kept == [False, True, True]


HEADER = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = HEADER + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


async def connected(server: HttpServer, sent: bytes) -> tuple[asyncio.StreamReader, Any]:
    """A connection on which this was sent."""
    where = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of descriptors")
@pytest.mark.parametrize("sent", [HEADER, BODY], ids=["header", "body"])
async def test_half_open_requests_take_nobodys_place(home: Home, sent: bytes) -> None:
    home.write("[packs.desk]\n")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The server's own limit is that of whoever starts it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        serving = home.http("--config", "mcp-host.toml")
        server = await serving.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    half = []
    try:
        for _ in range(300):
            half.append(await connected(server, sent))
        async with Web(server.url) as web:
            session = await web.session()
            answers = [
                await session.call("desk_greet", name="Ann"),
                await web.call("desk_greet", name="Ann"),
            ]
    finally:
        for _, writer in half:
            writer.close()
        await serving.__aexit__(None, None, None)

    assert [answer["result"]["content"][0]["text"] for answer in answers] == ["Hello Ann."] * 2
    assert "Too many open files" not in server.stderr


LONGEST_HEADER = 64 * 1024
CHUNKED = HEADER + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"


@pytest.mark.parametrize(
    "begun",
    [HEADER + b"X-Long: ", b"POST /mcp?", CHUNKED + b"X-Late: "],
    ids=["field", "url", "trailer"],
)
async def test_a_header_without_an_end_is_given_up_before_it_is_large(
    served: HttpServer, begun: bytes
) -> None:
    is_trailer = begun.startswith(CHUNKED)
    # What comes in one piece with a body is not counted: a piece has at most 256 KiB.
    more = 6 * LONGEST_HEADER if is_trailer else LONGEST_HEADER + 1 - len(begun)
    reader, writer = await connected(served, begun + b"x" * more)
    told = b""
    async with asyncio.timeout(10):  # below that in which a header must have come
        with suppress(ConnectionResetError):
            told = await reader.read()
    writer.close()

    assert is_trailer or told.startswith(b"HTTP/1.1 431 ")


async def test_a_header_of_many_kilobytes_is_taken(served: HttpServer) -> None:
    async with Web(served.url) as web:
        answer = await web.http.get(
            served.url.replace("/mcp", "/healthz"), headers={"x-long": "x" * 50_000}
        )

    assert answer.status_code == 200


@pytest.mark.parametrize("sent", [b"", HEADER, BODY], ids=["nothing", "header", "body"])
async def test_a_client_that_does_not_say_what_it_wants_is_hung_up_on(
    home: Home, sent: bytes
) -> None:
    home.write("[http.limits]\nheader_timeout = 0.3\n[packs.desk]\n")
    file = home.folder / "go on"

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url) as web:
        answered = asyncio.create_task(web.call("desk_await_file", path=str(file)))
        reader, writer = await connected(server, sent)
        async with asyncio.timeout(30):
            told = await reader.read()
        writer.close()
        assert not answered.done()  # it takes longer than that, and is waited for
        file.write_text("")
        answer = await answered

    assert told.startswith(b"HTTP/1.1 408 ")
    assert answer["result"]["content"][0]["text"] == "it is there"
    assert "Traceback" not in server.stderr


async def test_streams_that_are_open_are_never_closed_for_new_clients(home: Home) -> None:
    home.write("[http.limits]\nconnections = 3\n[packs.desk]\n")
    wanted = {"notifications": {"toolsListChanged": True}}

    async with home.http("--config", "mcp-host.toml") as server, AsyncExitStack() as stack:
        web = await stack.enter_async_context(Web(server.url))

        async def listen() -> AsyncIterator[Any]:
            news = await stack.enter_async_context(web.stream("subscriptions/listen", **wanted))
            await anext(news)
            return news

        streams = [await listen(), await listen()]
        said = []
        for name in ("Ann", "Bob"):  # of the third place everybody may have a turn
            async with Web(server.url) as other:
                said.append(await other.value("desk_greet", name=name))
        streams.append(await listen())
        reader, writer = await connected(server, b"")
        async with asyncio.timeout(30):
            told = await reader.read()
        writer.close()
        server.process.terminate()
        ends = [[frame async for frame in news] for news in streams]

    assert said == ["Hello Ann.", "Hello Bob."]
    assert told.startswith(b"HTTP/1.1 503 ")
    assert ["result" in end[-1] for end in ends] == [True] * 3
