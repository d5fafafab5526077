"""What is borrowed from the SDK and uvicorn is still there, and still means what we take it for.

Nobody promises these names. Where a test here fails after an upgrade, mend `serving/borrowed.py`.
"""

import inspect

import uvicorn
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_host.serving import borrowed
from mcp_host.serving.transports.http.replay import Replay


def test_the_sdks_server_makes_spans_by_a_middleware_that_can_be_taken_off() -> None:
    server: Server[object] = Server("s", version="1")
    before = [type(made).__name__ for made in server.middleware]
    assert before.count(borrowed.SPANS) == 1, (
        f"the SDK's server has no middleware {borrowed.SPANS} any more but {before}: look in "
        "mcp.server.lowlevel.server which of them makes spans, and name it in borrowed.SPANS"
    )

    borrowed.without_spans(server)

    assert [type(made).__name__ for made in server.middleware] == [
        name for name in before if name != borrowed.SPANS
    ]


def test_the_sdks_loop_for_a_stateless_stream_takes_what_we_give_it() -> None:
    serve = getattr(runner, "_serve_modern_stream", None)
    assert serve is not None, (
        "mcp.server.runner._serve_modern_stream is gone: calls on stdio take an eighth longer "
        "until borrowed.serve_modern_stream names what serves a stream of the stateless era now"
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
        "borrowed.SessionManager before anything else"
    )
    readers = [
        name
        for name, method in inspect.getmembers(StreamableHTTPSessionManager, inspect.isfunction)
        if "self.event_store" in inspect.getsource(method) and name != "__init__"
    ]
    assert len(readers) == 1, (
        f"StreamableHTTPSessionManager reads `event_store` in {readers}, and no longer once for "
        "each new session: look whether borrowed.SessionManager still gives every session its own"
    )


def test_every_session_has_an_event_store_of_its_own_and_a_stateless_server_none() -> None:
    server: Server[object] = Server("s", version="1")
    keeps = borrowed.SessionManager(Replay, app=server)
    stateless = borrowed.SessionManager(None, app=server, stateless=True)

    one, other = keeps.event_store, keeps.event_store
    assert isinstance(one, Replay)
    assert isinstance(other, Replay)
    assert one is not other
    assert stateless.event_store is None


def test_uvicorn_captures_signals_and_shuts_down_by_the_methods_that_we_replace() -> None:
    serve = inspect.getsource(uvicorn.Server.serve)
    ends = inspect.getsource(uvicorn.Server._serve)
    for source, called in ((serve, "self.capture_signals()"), (ends, "self.shutdown(")):
        assert called in source, (
            f"uvicorn.Server no longer calls {called}: look how it takes signals and ends now, and "
            "mend borrowed.GracefulServer, or a signal ends the process with 143"
        )
    assert inspect.isgeneratorfunction(inspect.unwrap(uvicorn.Server.capture_signals))
    inspect.signature(uvicorn.Server.shutdown).bind("server", [])
    inspect.signature(uvicorn.Server.handle_exit).bind("server", 15, None)


def test_uvicorn_ends_when_the_flags_that_we_set_are_set() -> None:
    async def nothing(scope: object, receive: object, send: object) -> None:
        """An application."""

    config = uvicorn.Config(nothing)
    server = borrowed.GracefulServer(config, stopping=lambda: None, at_once=lambda: None)
    assert (server.should_exit, server.force_exit) == (False, False), (
        "uvicorn.Server no longer has should_exit and force_exit: see borrowed.GracefulServer"
    )

    server.end_at_once()

    assert "self.should_exit" in inspect.getsource(uvicorn.Server.on_tick)
    assert "self.force_exit" in inspect.getsource(uvicorn.Server.shutdown)


def test_uvicorn_logs_what_we_silence_under_the_name_that_we_silence() -> None:
    assert 'logging.getLogger("uvicorn.error")' in inspect.getsource(uvicorn.server), (
        "uvicorn logs its errors under another name now: see borrowed.GracefulServer.shutdown"
    )
