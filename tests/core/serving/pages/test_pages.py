"""The page kit: a page of a pack that its own browser can reach, and no other site."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_host import (
    PAGE_STYLES,
    PageEvents,
    PageRequest,
    PageResponse,
    PageServer,
    SettingsError,
)


class Visitor:
    """Asks a page as a browser does."""

    def __init__(self, server: PageServer) -> None:
        self.host = f"127.0.0.1:{server.port}"

    def ask(
        self, path: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        given = {"Host": self.host} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, path, body or None, given)
        return connection.getresponse()


def admit(asked: PageRequest) -> PageResponse | None:
    return None if asked.cookies.get("who") == "me" else PageResponse("Who are you?", 403)


def echo(asked: PageRequest) -> PageResponse:
    return PageResponse({"query": dict(asked.query), "body": asked.json() if asked.body else None})


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    handlers = {
        ("GET", "/"): lambda _: PageResponse("<p>hi</p>", media_type="text/html"),
        ("GET", "/echo/{name}"): echo,
        ("POST", "/echo"): echo,
    }
    made = PageServer(handlers, PageEvents(), admit)
    thread = threading.Thread(target=made.serve)
    thread.start()
    yield made
    made.stop()
    thread.join()


def test_a_page_is_answered_with_headers_that_keep_others_out(server: PageServer) -> None:
    answer = Visitor(server).ask("/", Cookie="who=me")

    assert (answer.status, answer.read()) == (200, b"<p>hi</p>")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
    assert server.url == f"http://127.0.0.1:{server.port}/"


def test_a_handler_sees_path_query_and_body(server: PageServer) -> None:
    visitor = Visitor(server)
    own = f"http://{visitor.host}"

    shown = json.load(visitor.ask("/echo/one?a=1", Cookie="who=me"))
    sent = json.load(visitor.ask("/echo", "POST", b"[7]", Origin=own, Cookie="who=me"))

    assert shown["query"] == {"a": "1", "name": "one"}
    assert sent["body"] == [7]
    assert visitor.ask("/nowhere", Cookie="who=me").status == 404


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/", "GET", {"Host": "evil.example"}, 421),
        ("/", "GET", {"Host": "evil.example:80"}, 421),
        ("/", "GET", {"Origin": "http://evil.example"}, 403),
        ("/", "GET", {"Origin": "null"}, 403),
        ("/echo/x", "GET", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/echo/x", "GET", {"Sec-Fetch-Site": "same-site"}, 403),
        ("/events", "GET", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/", "GET", {"Sec-Fetch-Site": "cross-site"}, 200),  # a link may lead to it
        ("/echo", "POST", {}, 403),  # a change without an Origin
        ("/echo", "POST", {"Origin": "http://127.0.0.1:1"}, 403),
        ("/", "GET", {"Cookie": "who=you"}, 403),
    ],
)
def test_what_another_site_asks_is_refused(
    server: PageServer, path: str, method: str, headers: dict[str, str], status: int
) -> None:
    given: dict[str, Any] = {"Cookie": "who=me", **headers}

    answer = Visitor(server).ask(path, method, b"1" if method == "POST" else b"", **given)

    assert answer.status == status
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_long_body_is_refused(server: PageServer) -> None:
    visitor = Visitor(server)

    answer = visitor.ask(
        "/echo", "POST", b"x" * 1_100_000, Origin=f"http://{visitor.host}", Cookie="who=me"
    )

    assert answer.status == 413


def test_every_open_page_hears_the_news(server: PageServer) -> None:
    streams = [Visitor(server).ask("/events", Cookie="who=me") for _ in range(2)]
    assert all(stream.headers["content-type"].startswith("text/event-stream") for stream in streams)
    for stream in streams:
        assert stream.readline() == b": open\n"

    server.events.send("news", {"text": "schön"})

    for stream in streams:
        lines = [stream.readline() for _ in range(3)]
        assert lines[1:] == [b"event: news\n", 'data: {"text":"schön"}\n'.encode()]
    assert Visitor(server).ask("/events").status == 403


def test_a_page_that_cannot_follow_is_told_to_read_anew() -> None:
    import asyncio

    async def follow() -> list[str]:
        events = PageEvents()
        stream = events.stream()
        first = await anext(stream)
        for number in range(1_500):
            events.send("n", number)
        await asyncio.sleep(0)
        heard = [first, await anext(stream)]
        events.close()
        return heard

    assert asyncio.run(follow())[1].startswith("event: reset")


def test_a_port_that_is_taken_is_named(server: PageServer) -> None:
    with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{server.port}"):
        PageServer({}, PageEvents(), admit, server.port)


def test_what_an_answer_is_follows_from_its_body() -> None:
    assert PageResponse({"a": 1}).type == "application/json"
    assert PageResponse({"a": "é"}).content == '{"a":"é"}'.encode()
    assert PageResponse("x").type == PageResponse(b"x").type == "text/plain"
    assert "prefers-color-scheme: dark" in PAGE_STYLES
