"""What the lane answers over HTTP is what the SDK answers: the same status, type and JSON."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from lane_cases import CAPABILITIES, enveloped, requests, until
from lane_served import BOTH, Headers, Response, served
from mcp_host.serving.lane import exchange


def headers_of(frame: dict[str, Any], body: bytes) -> Headers:
    """What a good client sends with a request."""
    params = frame["params"]
    name = params.get("name", params.get("uri"))
    named = [(b"mcp-name", name.encode())] if isinstance(name, str) else []
    return [
        (b"host", b"127.0.0.1:8000"),
        (b"content-type", b"application/json"),
        (b"accept", BOTH),
        (b"content-length", str(len(body)).encode()),
        (b"mcp-protocol-version", b"2026-07-28"),
        (b"mcp-method", frame["method"].encode()),
        *named,
    ]


def _set(name: bytes, value: bytes) -> Callable[[Headers], Headers]:
    return lambda headers: [*(pair for pair in headers if pair[0] != name), (name, value)]


def _more(name: bytes, value: bytes) -> Callable[[Headers], Headers]:
    return lambda headers: [*headers, (name, value)]


CHANGES: list[Callable[[Headers], Headers]] = [
    _set(b"accept", b"application/json"),
    _set(b"accept", b"*/*"),
    _set(b"accept", b"text/event-stream;q=0.5 ,application/json"),
    _set(b"content-type", b"text/plain"),
    _set(b"content-type", b"Application/JSON; charset=utf-8"),
    _set(b"mcp-name", b"p_other"),
    _set(b"mcp-name", b"=?base64?cF93aG8=?="),
    _set(b"mcp-method", b"tools/list"),
    _set(b"mcp-protocol-version", b"2099-01-01"),
    _more(b"mcp-name", b"p_who"),
    _more(b"mcp-method", b"tools/call"),
    _more(b"mcp-param-value", b"x"),
    _more(b"mcp-session-id", b"nobody's"),
    _more(b"origin", b"http://evil.example"),
    _more(b"x-anything", b"else"),
    _set(b"host", b"evil.example"),
]
BEARERS: list[bytes | None] = [
    *[b"Bearer token-of-ann-0001"] * 4,
    b"bearer token-of-bob-0002",
    b"Bearer  token-of-ann-0001",
    b"Bearer nobody",
    b"Basic x",
    None,
]


@st.composite
def exchanges(draw: Any) -> tuple[Headers, bytes, int]:
    """One request over HTTP: mostly as it should be."""
    frame = enveloped({"id": 1, **draw(requests())}, draw(st.sampled_from(CAPABILITIES)))
    body = json.dumps({"jsonrpc": "2.0", **frame}).encode()
    if draw(st.sampled_from([False] * 12 + [True])):
        body = draw(st.sampled_from([b"", b"{nonsense", b"[]", body[:-1], b'{"jsonrpc":"2.0"}']))
    headers = headers_of(frame, body)
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=1)) * draw(st.integers(0, 1)):
        headers = change(headers)
    bearer = draw(st.sampled_from(BEARERS))
    if bearer is not None:
        headers.append((b"authorization", bearer))
    return headers, body, draw(st.sampled_from([1, 1, 1, 3]))


@pytest.mark.parametrize("tokens", [False, True])
def test_a_request_has_the_same_response_with_the_lane_on_and_off(tokens: bool) -> None:
    @given(st.lists(exchanges(), min_size=1, max_size=6))
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    def compared(several: list[tuple[Headers, bytes, int]]) -> None:
        async def all_of(lane: bool) -> list[Any]:
            async with served(lane, tokens) as app:
                return [(await app.post(*exchange)).plain() for exchange in several]

        assert asyncio.run(all_of(True)) == asyncio.run(all_of(False))

    compared()


def usual(name: str, **meta: Any) -> tuple[Headers, bytes]:
    """A usual call."""
    params = {"name": name, "_meta": meta}
    frame = enveloped({"id": 1, "method": "tools/call", "params": params}, {})
    body = json.dumps({"jsonrpc": "2.0", **frame}).encode()
    return headers_of(frame, body), body


@pytest.mark.parametrize(
    ("name", "kind"), [("who", "application/json"), ("fails", "application/json")]
)
async def test_a_usual_call_is_taken_by_the_lane(name: str, kind: str) -> None:
    async with served(True) as app:
        response = await app.post(*usual(f"p_{name}"))

    assert (app.taken, response.status, response.kind) == (1, 200, kind.encode())


async def test_progress_makes_the_response_a_stream_that_ends_with_the_answer() -> None:
    async with served(True) as app:
        response = await app.post(*usual("p_talks", progressToken="t"))

    *progress, answer = response.plain()[2]
    assert app.taken == 1
    assert [said["params"]["progress"] for said in progress] == [0, 1, 2]
    assert answer["result"]["resultType"] == "complete"
    assert response.is_whole


@pytest.mark.parametrize("lane", [True, False])
async def test_a_client_that_goes_cancels_its_call(lane: bool) -> None:
    async with served(lane) as app:
        response = Response()
        call = asyncio.create_task(app.post(*usual("p_waits", progressToken=1), response=response))
        await until(lambda: response.body)
        call.cancel()
        await asyncio.wait({call})

    assert response.kind == b"text/event-stream"
    assert not response.is_whole


async def test_a_long_call_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "PATIENCE", 0.01)
    async with served(True) as app:
        response = Response()
        call = asyncio.create_task(app.post(*usual("p_waits"), response=response))
        await until(lambda: response.body.count(b": ping\r\n\r\n") > 1)
        call.cancel()
        await asyncio.wait({call})

    assert response.status == 200
    assert response.kind == b"text/event-stream"
