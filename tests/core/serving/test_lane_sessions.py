"""What the lane answers in a session over HTTP is what the SDK answers there."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from lane_cases import CAPABILITIES, comparable, requests, until
from lane_served import Response, SessionClient, served, told
from mcp_host.serving.lane import sessions as lane_sessions
from mcp_host.startup.protocol import HANDSHAKE_VERSIONS

CANCELLED = {"code": -32800, "message": "Request cancelled"}
HEADERS: list[dict[str, bytes]] = [{}] * 12 + [
    {"accept": b"application/json"},
    {"accept": b"*/*"},
    {"content_type": b"text/plain"},
    {"content_type": b"Application/JSON; charset=utf-8"},
    {"mcp_session_id": b"nobody's"},
    {"mcp_session_id": b""},
    {"mcp_protocol_version": b""},
    {"mcp_protocol_version": b"2024-11-05"},
    {"mcp_protocol_version": b"2026-07-28"},
    {"mcp_protocol_version": b"1999-01-01"},
    {"mcp_method": b"tools/list"},
    {"authorization": b"Bearer token-of-bob-0002"},
    {"authorization": b"Bearer nobody"},
    {"origin": b"http://evil.example"},
]
BODIES = [b"", b"{nonsense", b"[]", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":"x"}']
Exchange = tuple[dict[str, Any] | bytes, dict[str, bytes]]


@st.composite
def exchanges(draw: Any) -> Exchange:
    """One message in a session: mostly as it should be."""
    headers = draw(st.sampled_from(HEADERS))
    if draw(st.sampled_from([False] * 12 + [True])):
        return draw(st.sampled_from(BODIES)), headers
    request_id = draw(st.sampled_from([1, 2, "1", "a", 0, -5, 2**60, 1.5, None, True]))
    return {"id": request_id, **draw(requests())}, headers


async def answers_of(
    several: list[Exchange], lane: bool, bearer: bytes, version: str, capabilities: Any
) -> list[Any]:
    async with served(lane, tokens=bool(bearer)) as app:
        client = SessionClient(app, version, bearer)
        await client.open(capabilities)
        answers = []
        for message, headers in several:
            if isinstance(message, bytes):
                response = await app.post(client.headers(message, **headers), message)
            else:
                response = await client.post(message, **headers)
            status = response.status
            named = response.headers.get(b"mcp-session-id") == client.session_id
            if status == 200:
                answers.append((status, named, comparable(told(response))))
            else:
                answers.append((status, named, comparable(response.body.decode())))
        return answers


@pytest.mark.parametrize("bearer", [b"", b"token-of-ann-0001"])
def test_a_session_has_the_same_answers_with_the_lane_on_and_off(bearer: bytes) -> None:
    @given(
        st.lists(exchanges(), min_size=1, max_size=6),
        st.sampled_from(HANDSHAKE_VERSIONS),
        st.sampled_from(CAPABILITIES),
    )
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    def compared(several: list[Exchange], version: str, capabilities: Any) -> None:
        if capabilities.get("sampling") == 5:
            capabilities = {}  # no session begins with these
        both = [
            asyncio.run(answers_of(several, lane, bearer, version, capabilities))
            for lane in (True, False)
        ]
        assert both[0] == both[1]

    compared()


@pytest.mark.parametrize("name", ["who", "fails", "in_full"])
async def test_a_usual_call_is_one_response_of_json(name: str) -> None:
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        response = await client.call(name)

    assert (app.taken, response.status, response.kind) == (1, 200, b"application/json")
    assert response.headers[b"mcp-session-id"] == client.session_id


async def test_before_the_client_has_said_that_it_is_initialized_the_sdk_answers() -> None:
    async with served(True) as app:
        client = SessionClient(app)
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        params["clientInfo"] = {"name": "t", "version": "1"}
        opened = await client.post({"id": 0, "method": "initialize", "params": params})
        client.session_id = opened.headers[b"mcp-session-id"]
        response = await client.call("who")

    assert (app.taken, response.status) == (0, 200)


async def test_progress_and_log_come_in_a_stream_before_the_answer() -> None:
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        response = await client.call("talks", progressToken="t")

    *said, answer = told(response)
    kinds = [message["method"].rpartition("/")[2] for message in said]
    assert app.taken == 1
    assert kinds == ["progress", "message", "message"] * 3
    assert answer["result"]["content"][0]["text"] == "done"
    assert response.body.startswith(b"id: ")  # from where the stream can be taken up again


async def test_the_level_that_a_client_has_set_counts() -> None:
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        await client.post({"id": 9, "method": "logging/setLevel", "params": {"level": "error"}})
        response = await client.call("talks")

    assert response.kind == b"application/json"


@pytest.mark.parametrize("lane", [True, False])
@pytest.mark.parametrize("cancelled_as", [1, "1"])
async def test_a_cancelled_call_is_told_so(
    lane: bool, cancelled_as: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_sessions, "SOON", 60)
    async with served(lane) as app:
        client = SessionClient(app)
        await client.open()
        call = asyncio.create_task(client.call("waits"))
        session = app.session(client)
        await until(lambda: "1" in session.in_flight)
        accepted = await client.cancel(cancelled_as)
        response = await call
        again = await client.call("who")

    assert (accepted.status, accepted.body) == (202, b"")
    assert told(response) == [{"jsonrpc": "2.0", "id": 1, "error": CANCELLED}]
    assert told(again)[0]["result"]


@pytest.mark.parametrize("soon", [0, 60])
async def test_a_call_that_went_on_in_the_sdk_is_cancelled_there(
    soon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_sessions, "SOON", soon)
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        response = Response()
        call = asyncio.create_task(client.call("waits", response=response, progressToken=1))
        await until(lambda: told(response))
        await client.cancel(1)
        await call
        session = app.session(client)
        await until(lambda: not session.in_flight and not session.begun)

    assert told(response)[-1]["error"] == CANCELLED


@pytest.mark.parametrize("lane", [True, False])
async def test_an_id_that_is_in_use_is_refused(lane: bool) -> None:
    async with served(lane) as app:
        client = SessionClient(app)
        await client.open()
        call = asyncio.create_task(client.call("waits"))
        session = app.session(client)
        await until(lambda: "1" in session.in_flight)
        response = await client.call("who")
        await client.cancel(1)
        await call

    assert response.status == 409


async def test_a_call_ends_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_sessions, "SOON", 60)
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        call = asyncio.create_task(client.call("waits"))
        session = app.session(client)
        await until(lambda: session.begun)
        ended = await client.end()
        response = await call
        after = await client.call("who")

    assert (ended.status, response.status, after.status) == (200, 500, 404)
    assert json.loads(response.body)["error"]["message"].startswith("Session terminated")


@pytest.mark.parametrize("lane", [True, False])
async def test_a_broken_stream_is_taken_up_again(lane: bool) -> None:
    async with served(lane) as app:
        client = SessionClient(app)
        await client.open()
        first, second = Response(), Response()
        call = asyncio.create_task(client.call("released", response=first, progressToken=1))
        await until(lambda: told(first))
        call.cancel()
        session = app.session(client)
        await client.call("release", request_id=2)
        await until(lambda: not session.in_flight)
        await asyncio.wait({call})
        last = first.body.rpartition(b"id: ")[2].partition(b"\r\n")[0]
        resumed = asyncio.create_task(client.resume(second, last))
        await until(lambda: told(second))
        resumed.cancel()
        await asyncio.wait({resumed})

    assert told(second)[0]["result"]["content"][0]["text"] == "released"


async def test_a_session_that_is_used_in_the_lane_does_not_end_for_want_of_use() -> None:
    async with served(True) as app:
        client = SessionClient(app)
        await client.open()
        session = app.session(client)
        before = app.ends_at(client)
        call = asyncio.create_task(client.call("released"))
        await until(lambda: session.begun)
        meanwhile = app.ends_at(client)
        await client.call("release", request_id=2)
        await call
        after = app.ends_at(client)

    assert before < after < meanwhile == float("inf")


async def test_a_token_of_another_caller_does_not_reach_a_session() -> None:
    async with served(True, tokens=True) as app:
        ann = SessionClient(app, bearer=b"token-of-ann-0001")
        await ann.open()
        mine = await ann.call("who")
        ann.bearer = b"token-of-bob-0002"
        response = await ann.call("who")

    assert told(mine)[0]["result"]["structuredContent"]["subject"] == "ann"
    assert (app.taken, response.status) == (1, 404)
