"""What is borrowed from the SDK and uvicorn is still there, and still means what we take it for.

Nobody promises these names. Where a test here fails after an upgrade, mend `serving/borrowed/`.
"""

import asyncio
import gc
import inspect
import socket
from typing import Any

import pytest
import uvicorn
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_host.serving.borrowed import graceful, sdk, web
from mcp_host.serving.lane.exchange import AT_ONCE, ON_GONE


def test_the_sdks_server_makes_spans_by_a_middleware_that_can_be_taken_off() -> None:
    server: Server[object] = Server("s", version="1")
    before = [type(made).__name__ for made in server.middleware]
    assert before.count(sdk.SPANS) == 1, (
        f"the SDK's server has no middleware {sdk.SPANS} any more but {before}: look in "
        "mcp.server.lowlevel.server which of them makes spans, and name it in sdk.SPANS"
    )

    sdk.without_spans(server)

    assert [type(made).__name__ for made in server.middleware] == [
        name for name in before if name != sdk.SPANS
    ]


def test_the_sdks_loop_for_a_stateless_stream_takes_what_we_give_it() -> None:
    serve = getattr(runner, "_serve_modern_stream", None)
    assert serve is not None, (
        "mcp.server.runner._serve_modern_stream is gone: calls on stdio take an eighth longer "
        "until sdk.serve_modern_stream names what serves a stream of the stateless era now"
    )
    assert inspect.iscoroutinefunction(serve)
    try:
        inspect.signature(serve).bind(
            "server", "stream", "stream", lifespan_state={}, raise_exceptions=False
        )
    except TypeError as error:
        raise AssertionError(
            f"mcp.server.runner._serve_modern_stream takes other arguments now: {error}"
        ) from None


def test_the_sdks_session_manager_keeps_its_event_store_where_we_replace_it() -> None:
    names = StreamableHTTPSessionManager.__init__.__code__.co_names
    assert "event_store" in names, (
        "StreamableHTTPSessionManager no longer keeps `event_store` as an attribute: sessions "
        "would share one store, and one client could read another's answers; mend "
        "sdk.SessionManager before anything else"
    )
    readers = [
        name
        for name, method in inspect.getmembers(StreamableHTTPSessionManager, inspect.isfunction)
        if "self.event_store" in inspect.getsource(method) and name != "__init__"
    ]
    assert len(readers) == 1, (
        f"StreamableHTTPSessionManager reads `event_store` in {readers}, and no longer once for "
        "each new session: look whether sdk.SessionManager still gives every session its own"
    )


class Keeper:
    """Sessions by their id, as the SDK says that they begin and end."""

    def __init__(self) -> None:
        self.sessions: dict[str, object] = {}

    def admit(self, owner: object) -> object:
        return object()

    def began(self, session_id: str, session: object, use: sdk.SessionUse) -> None:
        self.sessions[session_id] = session

    def ended(self, session_id: str) -> None:
        del self.sessions[session_id]


async def test_the_sdk_asks_our_keeper_for_every_session_and_tells_it_the_end() -> None:
    keeper = Keeper()
    manager = sdk.SessionManager(keeper, lambda app: app, app=Server("s", version="1"))

    one, other = manager._admit_session(None), manager._admit_session(None)
    assert one is not None
    assert other is not None
    assert one.mcp_session_id is not None
    begun = dict(keeper.sessions)
    await manager._discard_session(one.mcp_session_id, one)

    assert [one._event_store, other._event_store] == list(begun.values())
    assert one._event_store is not other._event_store
    assert list(keeper.sessions) == [other.mcp_session_id]


async def test_the_sdk_counts_the_requests_of_a_session_as_we_do() -> None:
    transport = StreamableHTTPServerTransport("s", idle_timeout=60)
    source = inspect.getsource(StreamableHTTPServerTransport.handle_request)
    assert "self._requests_in_flight += 1" in source, (
        "StreamableHTTPServerTransport counts its requests in another way now: a session that is "
        "used in the lane alone would end for want of use; mend sdk.SessionUse"
    )
    async with transport.connect():
        use = sdk.SessionUse(transport)

        assert use.begin()
        assert use.ends_at == float("inf")
        use.end()
        assert use.ends_at < float("inf")
        await transport.terminate()
        assert not use.begin()


def test_the_sdk_begins_and_ends_every_session_by_the_methods_that_we_replace() -> None:
    stateful = inspect.getsource(StreamableHTTPSessionManager._handle_stateful_request)
    assert "self._admit_session(" in stateful, (
        "StreamableHTTPSessionManager begins sessions elsewhere now: look where, or [http.limits] "
        "sessions is not kept and no session can be resumed"
    )
    opening = inspect.getsource(StreamableHTTPSessionManager._serve_opening_request)
    assert "self._discard_session(" in stateful, "a DELETE no longer tells us that a session ended"
    assert opening.count("self._discard_session(") == 2, (
        "StreamableHTTPSessionManager no longer tells us of every session that ended: those that "
        "were not used would count against [http.limits] sessions for ever"
    )


async def test_every_request_passes_our_checks_with_its_body_whole() -> None:
    called = []

    async def check(scope: object, receive: object, send: object) -> None:
        called.append(await receive())  # type: ignore[operator]

    parts = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b", "more_body": False},
    ]

    async def receive() -> dict[str, object]:
        return parts.pop(0)

    async def send(message: object) -> None:
        """Nothing is answered."""

    manager = sdk.SessionManager(None, lambda app: check, app=Server("s", version="1"))
    await manager.handle_request({"type": "http", "headers": []}, receive, send)

    assert called == [{"type": "http.request", "body": b"ab", "more_body": False}]


def test_a_stateless_server_keeps_no_events() -> None:
    stateless = sdk.SessionManager(
        None, lambda app: app, app=Server("s", version="1"), stateless=True
    )

    assert stateless.event_store is None


def test_uvicorn_captures_signals_and_shuts_down_by_the_methods_that_we_replace() -> None:
    serve = inspect.getsource(uvicorn.Server.serve)
    ends = inspect.getsource(uvicorn.Server._serve)
    for source, called in ((serve, "self.capture_signals()"), (ends, "self.shutdown(")):
        assert called in source, (
            f"uvicorn.Server no longer calls {called}: look how it takes signals and ends now, and "
            "mend graceful.GracefulServer, or a signal ends the process with 143"
        )
    assert inspect.isgeneratorfunction(inspect.unwrap(uvicorn.Server.capture_signals))
    inspect.signature(uvicorn.Server.shutdown).bind("server", [])
    inspect.signature(uvicorn.Server.handle_exit).bind("server", 15, None)


def test_uvicorn_ends_when_the_flags_that_we_set_are_set() -> None:
    async def nothing(scope: object, receive: object, send: object) -> None:
        """An application."""

    config = uvicorn.Config(nothing)
    server = graceful.GracefulServer(config, ending=lambda: None)
    assert (server.should_exit, server.force_exit) == (False, False), (
        "uvicorn.Server no longer has should_exit and force_exit: see graceful.GracefulServer"
    )

    server.end()
    server.end_at_once()

    assert "self.should_exit" in inspect.getsource(uvicorn.Server.on_tick)
    assert "self.force_exit" in inspect.getsource(uvicorn.Server.shutdown)


def test_uvicorn_logs_what_we_silence_under_the_name_that_we_silence() -> None:
    assert 'logging.getLogger("uvicorn.error")' in inspect.getsource(uvicorn.server), (
        "uvicorn logs its errors under another name now: see graceful.GracefulServer.shutdown"
    )


class Door:
    """What was told of connections."""

    def __init__(self) -> None:
        self.told: list[tuple[str, bool, bool]] = []

    def opened(self, connection: Any) -> None:
        self.told.append(("opened", connection.awaits_header, connection.awaits_body))

    def heard(self, connection: Any) -> None:
        self.told.append(("heard", connection.awaits_header, connection.awaits_body))

    def closed(self, connection: Any) -> None:
        self.told.append(("closed", False, False))


@pytest.fixture(params=["h11", "httptools"])
def each_protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have uvicorn speak by each of its implementations in turn."""
    implementation = pytest.importorskip(f"uvicorn.protocols.http.{request.param}_impl")
    name = {"h11": "H11Protocol", "httptools": "HttpToolsProtocol"}[request.param]
    monkeypatch.setattr(web, "AutoHTTPProtocol", getattr(implementation, name))


@pytest.mark.usefixtures("each_protocol")
async def test_uvicorn_tells_what_a_connection_waits_for() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            while (await receive()).get("more_body"):
                continue
            assert dict(scope["headers"])[b"mcp-name"] == b"padded"
            told.append("answering")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"ok"})

    door = Door()
    told: Any = door.told
    config = uvicorn.Config(app, http=web.counted_protocol(door), log_config=None)
    server = graceful.GracefulServer(config, ending=lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await started(server, listening)
        _, writer = await asyncio.open_connection(*listening.getsockname())

        async def send(data: bytes, count: int) -> None:
            writer.write(data)
            async with asyncio.timeout(30):
                while len(told) < count:  # noqa: ASYNC110 - the server runs on this loop
                    await asyncio.sleep(0)

        await send(b"POST / HTTP/1.1\r\nHost: x\r\nMcp-Name:  padded \t \r\n", 2)
        await send(b"Content-Length: 2\r\n\r\n", 3)
        await send(b"a", 4)
        await send(b"b", 7)
        writer.close()
        await send(b"", 8)
        await server.shutdown([listening])

    assert told[:4] == [
        ("opened", True, False),
        ("heard", True, False),
        ("heard", False, True),
        ("heard", False, True),
    ]
    assert sorted(map(str, told[4:7])) == sorted(
        map(str, [("heard", False, False), "answering", ("heard", True, False)])
    )
    assert told[7] == ("closed", False, False)


async def started(server: uvicorn.Server, listening: socket.socket) -> None:
    """Start a server of uvicorn as `serve` does, without its signals."""
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listening])


class Sent:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def close(self) -> None:
        self.is_closed = True

    def get_extra_info(self, name: str) -> None:
        """There is no socket."""


async def test_what_is_written_in_one_go_is_sent_as_one_piece() -> None:
    sent = Sent()
    gathering = web.GatheringTransport(sent)
    gathering.write(b"head")
    gathering.write(b"body")
    before = list(sent.pieces)
    await asyncio.sleep(0)
    gathering.write(b"last")
    gathering.close()

    assert before == []
    assert sent.pieces == [b"headbody", b"last"]
    assert sent.is_closed


async def test_much_is_sent_at_once() -> None:
    sent = Sent()
    web.GatheringTransport(sent).write(b"x" * web.FULL)

    assert len(sent.pieces) == 1


LARGE = b"x" * 8_000_000
"""More than the system takes of a client that does not read."""


async def test_a_response_that_another_thread_sends_is_the_same_and_sent_once() -> None:
    pytest.importorskip("httptools")
    given: list[bool | None] = []
    ended: list[str] = []
    asked_more = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await receive()
        path = scope["path"]
        body = LARGE if path == "/large" else path.encode()
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"text/plain")]
        at_once, is_sent = scope.get(AT_ONCE), None
        if at_once is not None:
            is_sent = await asyncio.to_thread(at_once.send, headers, body, lambda: path != "/loop")
        given.append(is_sent)
        if is_sent:
            if path == "/early":
                await asked_more.wait()
            at_once.ended()
        else:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        ended.append(path)

    async def until_ended(count: int) -> None:
        while len(ended) < count:  # noqa: ASYNC110 - the server runs on this loop
            await asyncio.sleep(0)

    config = uvicorn.Config(app, http=web.counted_protocol(Door()), log_config=None)
    server = graceful.GracefulServer(config, ending=lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await started(server, listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())

        async def whole(length: int) -> tuple[list[bytes], bytes]:
            head = (await reader.readuntil(b"\r\n\r\n")).splitlines()
            return [line for line in head if not line.startswith(b"date")], (
                await reader.readexactly(length)
            )

        async with asyncio.timeout(60):
            writer.write(b"GET /sent HTTP/1.1\r\nHost: x\r\n\r\n")
            sent = await whole(5)
            await until_ended(1)
            writer.write(b"GET /loop HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await whole(5) == (sent[0], b"/loop")
            await until_ended(2)
            writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await until_ended(3)
            assert (await whole(len(LARGE)))[1] == LARGE
            writer.write(b"GET /early HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await whole(6))[1] == b"/early"
            writer.write(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(20):  # the server reads it on this loop, and answers it later
                await asyncio.sleep(0)
            asked_more.set()
            assert (await whole(5))[1] == b"/next"
            writer.write(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            assert [(await whole(4))[1], (await whole(4))[1]] == [b"/one", b"/one"]
            writer.write(b"GET /last HTTP/1.0\r\nHost: x\r\n\r\n")
            head, body = await whole(5)
            rest = await reader.read()
        writer.close()
        await server.shutdown([listening])

    assert sent[1] == b"/sent"
    assert given[:5] == [True, False, True, True, True]
    assert (body, rest) == (b"/last", b"")
    assert b"connection: close" in head


async def test_nothing_is_sent_at_once_where_the_connection_is_no_more() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connected = Sent()
        connected.get_extra_info = {"socket": ours}.get  # type: ignore[method-assign, assignment]  # has one
        gathering = web.GatheringTransport(connected)
        gathering.lost()

        assert not gathering.send_at_once(b"data", lambda: True)


@pytest.mark.parametrize("requests", [1, 2])
@pytest.mark.usefixtures("each_protocol")
async def test_who_answers_is_told_that_the_client_goes_also_one_that_asked_more(
    requests: int,
) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await receive()
            scope[ON_GONE](gone.set)
            asked.set()
            await gone.wait()
            scope[ON_GONE](None)

    config = uvicorn.Config(app, http=web.counted_protocol(Door()), log_config=None)
    server = graceful.GracefulServer(config, ending=lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await started(server, listening)
        async with asyncio.timeout(60):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * requests)
            await asked.wait()
            writer.close()
            await gone.wait()
        await server.shutdown([listening])


async def test_a_request_leaves_nothing_that_the_garbage_collector_must_find() -> None:
    pytest.importorskip("httptools")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await receive()
            scope[ON_GONE](asyncio.Event().set)
            scope[ON_GONE](None)
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    def cycles() -> int:
        return sum(type(one).__name__ == "RequestResponseCycle" for one in gc.get_objects())

    config = uvicorn.Config(app, http=web.counted_protocol(Door()), log_config=None)
    server = graceful.GracefulServer(config, ending=lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await started(server, listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        gc.disable()
        try:
            before = cycles()
            async with asyncio.timeout(60):
                for _ in range(9):
                    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    await reader.readuntil(b"\r\n\r\n")
            kept = cycles() - before
        finally:
            gc.enable()
        writer.close()
        await server.shutdown([listening])

    assert kept <= 2  # the last one, and what its task still holds


@pytest.mark.usefixtures("each_protocol")
async def test_uvicorn_closes_a_connection_that_is_not_used_again() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"ok"})

    config = uvicorn.Config(
        app, http=web.counted_protocol(Door()), log_config=None, timeout_keep_alive=0
    )
    server = graceful.GracefulServer(config, ending=lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await started(server, listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(60):
            said = await reader.read()
        writer.close()
        await server.shutdown([listening])

    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\nok")
