"""What the lane answers on stdio is what the SDK answers: the same frames, lane on and off."""

import asyncio
import json
import os
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from lane_cases import CAPABILITIES, INFO, comparable, enveloped, lane_host, requests, until
from mcp_host.declarations.context import Caller
from mcp_host.host import Host
from mcp_host.serving.adapter import Adapter
from mcp_host.serving.lane.stdio import StdioLane
from mcp_host.serving.sdk import SdkSide
from mcp_host.serving.transports.stdio.conversation import serve
from mcp_host.serving.transports.stdio.link import StdioLink
from mcp_host.serving.transports.stdio.session import StdioSession, run
from mcp_host.startup.catalogue import Catalogue
from mcp_host.startup.first_answers import FirstAnswers
from mcp_host.startup.frames import Splitter
from mcp_host.startup.handover import Handover
from mcp_host.startup.protocol import LISTS

LINES = [
    b"{nonsense",
    b"[]",
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"1.0","id":"v","method":"tools/call","params":{"name":"p_who"}}',
    b'{"jsonrpc":"2.0","id":"p","method":"ping","params":null}',
    b'{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"p_who"},"extra":1}',
    b'{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"p_echo","arguments":'
    b'{"value":' + b"[" * 150 + b"]" * 150 + b"}}}",
]


@st.composite
def conversations(draw: Any) -> list[bytes]:
    """The lines of one client: a handshake or envelopes, and requests of all kinds."""
    capabilities = draw(st.sampled_from(CAPABILITIES))
    is_modern = draw(st.booleans())
    frames = [
        {"id": n + 10, **frame} for n, frame in enumerate(draw(st.lists(requests(), max_size=8)))
    ]
    if is_modern:
        frames = [enveloped({"id": 0, "method": "server/discover", "params": {}}, {})] + [
            enveloped(frame, capabilities) if draw(st.sampled_from([True] * 9 + [False])) else frame
            for frame in frames
        ]
    else:
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": INFO,
        }
        frames = [
            {"id": 0, "method": "initialize", "params": opening},
            {"method": "notifications/initialized"},
            *frames,
        ]
    lines = [json.dumps({"jsonrpc": "2.0", **frame}).encode() for frame in frames]
    for odd in draw(st.lists(st.sampled_from(LINES), max_size=2, unique=True)):
        lines.insert(draw(st.integers(2, max(2, len(lines)))), odd)
    return lines


class Conversation:
    """One client and one host, whose lines go one by one: each waits for what it should cause."""

    def __init__(self, lane: bool) -> None:
        self.host = lane_host(lane)
        self.taken = 0

    async def run(self, lines: Iterable[bytes]) -> list[Any]:
        source, feed = os.pipe()
        drain, sink = os.pipe()
        written: list[bytes] = []
        reader = threading.Thread(target=_read_all, args=(drain, written))
        reader.start()
        async with self.host:
            adapter = Adapter(self.host, name="mcp-host", version="1", title="T")
            self._count(adapter)
            detach = adapter.attach()
            link = StdioLink(source, sink, 1 << 20)
            session = StdioSession(link, adapter, link.drained)
            link.start()
            serving = asyncio.create_task(run(adapter.server, session))
            for number, line in enumerate(lines):
                os.write(feed, line + b"\n")
                if number == 0:  # the opening is answered before a client goes on
                    await until(lambda: written)
                if b"notifications/initialized" in line and b'"error"' not in written[0]:
                    await until(lambda: adapter.connections.stdio.caller)
            os.close(feed)
            await serving
            detach()
        os.close(sink)
        await asyncio.to_thread(reader.join)
        os.close(source)
        os.close(drain)
        return [comparable(json.loads(line)) for line in b"".join(written).splitlines()]

    def _count(self, adapter: Adapter) -> None:
        """Count what the lane takes, so that a test sees that it was asked at all."""
        if adapter.lane is None:
            return
        outcome = adapter.lane.outcome

        async def counting(*given_: Any) -> Any:
            self.taken += 1
            return await outcome(*given_)

        adapter.lane.outcome = counting  # type: ignore[method-assign]


def _read_all(descriptor: int, into: list[bytes]) -> None:
    while chunk := os.read(descriptor, 65536):
        into.append(chunk)


def by_request(frames: list[Any]) -> dict[str, list[Any]]:
    """The answers by their id, and the progress of each token, in order."""
    found: dict[str, list[Any]] = {}
    for frame in frames:
        key = (
            frame.get("id")
            if "method" not in frame
            else frame.get("params", {}).get("progressToken")
        )
        found.setdefault(repr(key), []).append(json.dumps(frame, sort_keys=True))
    return {key: sorted(told) for key, told in found.items()}


@given(conversations())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_conversation_has_the_same_answers_with_the_lane_on_and_off(lines: list[bytes]) -> None:
    through_the_sdk = asyncio.run(Conversation(lane=False).run(lines))
    through_the_lane = asyncio.run(Conversation(lane=True).run(lines))

    assert by_request(through_the_lane) == by_request(through_the_sdk)


HANDSHAKE = [
    {
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO},
    },
    {"method": "notifications/initialized"},
]
DISCOVER = [enveloped({"id": 0, "method": "server/discover", "params": {}}, {})]


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize(
    "request_",
    [
        {"method": "tools/call", "params": {"name": "p_echo", "arguments": {"value": 1}}},
        {"method": "tools/call", "params": {"name": "p_who"}},
        {"method": "tools/call", "params": {"name": "p_talks", "_meta": {"progressToken": 5}}},
        {"method": "tools/call", "params": {"name": "p_fails", "arguments": {}}},
        {"method": "resources/read", "params": {"uri": "t://gone"}},
        {"method": "resources/read", "params": {"uri": "x://fixed"}},
        {"method": "prompts/get", "params": {"name": "p_spoken", "arguments": {"name": "a"}}},
    ],
)
def test_a_usual_request_is_taken_by_the_lane(era: str, request_: dict[str, Any]) -> None:
    frames = HANDSHAKE if era == "handshake" else DISCOVER
    frame = {"id": 7, **request_}
    more = [frame if era == "handshake" else enveloped(frame, {})]
    lines = [json.dumps({"jsonrpc": "2.0", **f}).encode() for f in [*frames, *more]]
    conversation = Conversation(lane=True)

    answers = asyncio.run(conversation.run(lines))

    assert conversation.taken == 1
    assert by_request(answers) == by_request(asyncio.run(Conversation(lane=False).run(lines)))


def _call(request_id: Any, name: str, **meta: Any) -> bytes:
    params = {"name": name, "_meta": meta} if meta else {"name": name}
    return _line({"id": request_id, "method": "tools/call", "params": params})


def _line(frame: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **frame}).encode()


@pytest.mark.parametrize("named", [7, "7"])
def test_a_cancelled_request_gets_no_answer_and_its_id_is_in_useuntil_then(named: Any) -> None:
    cancel = {"method": "notifications/cancelled", "params": {"requestId": named}}
    lines = [
        *(_line(frame) for frame in HANDSHAKE),
        _call(7, "p_waits"),
        _call(7, "p_who"),
        _line(cancel),
    ]
    conversation = Conversation(lane=True)

    answers = by_request(asyncio.run(conversation.run(lines)))

    assert conversation.taken <= 1  # none where it is cancelled before it has begun
    assert [json.loads(told)["error"]["message"] for told in answers["7"]] == [
        "This id is in use already"
    ]
    assert answers == by_request(asyncio.run(Conversation(lane=False).run(lines)))


def test_a_call_that_runs_when_the_client_is_given_up_is_told_so() -> None:
    async def give_up() -> list[bytes]:
        frames: list[bytes] = []
        link = _Frames(frames)
        async with lane_host(True) as host:
            adapter = Adapter(host, name="mcp-host", version="1")
            assert adapter.lane is not None
            lane = StdioLane(adapter.lane, link, adapter.connections.stdio)  # type: ignore[arg-type]
            lane.is_modern = True
            call = {"method": "tools/call", "params": {"name": "p_waits"}, "id": 7}
            call = enveloped(call, {})
            call["params"]["_meta"]["progressToken"] = 1  # type: ignore[index]  # a table
            assert lane.takes(_line(call))
            await until(lambda: frames)
            await lane.close()
        return frames

    *_, last = asyncio.run(give_up())

    assert json.loads(last) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32000, "message": "Connection closed"},
    }


class _Frames:
    """A link that keeps what is written to it."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def accepted(self, request_id: Any) -> bool:
        return True

    def answered(self, request_id: Any) -> None:
        """Nothing waits for it."""

    def post(self, frame: bytes) -> None:
        self._frames.append(frame)


class EarlyConversation:
    """One client whose first lines are answered before the host is there, and the host after it.

    `lines` can be added to while it runs; the input ends when `ending` is set.
    """

    def __init__(self) -> None:
        self.host = lane_host(True)
        self.written: list[bytes] = []
        self.ending = asyncio.Event()

    async def run(self, lines: list[bytes], early: int) -> list[Any]:
        """Everything that is written; the first lines of that number are answered early."""
        answers = FirstAnswers(_catalogue(self.host))
        at_once = [answers.answer(line) for line in lines[:early]]
        before = Handover(
            lines=answers.replay,
            answered=answers.answered,
            splitter=Splitter(1 << 20),
            answers=answers,
        )
        (source, self.feed), (drain, sink) = os.pipe(), os.pipe()
        reader = threading.Thread(target=_read_all, args=(drain, self.written))
        reader.start()
        async with self.host as host:
            sdk = SdkSide(host, lambda: _catalogue(host), stateless=False, stale=False)
            serving = asyncio.create_task(serve(host, sdk, (source, sink), before, asyncio.Event()))
            os.write(self.feed, b"".join(line + b"\n" for line in lines[early:]))
            await self.ending.wait()
            os.close(self.feed)
            await serving
            sdk.detach()
        os.close(sink)
        await asyncio.to_thread(reader.join)
        os.close(source)
        os.close(drain)
        written = [answer for answer in at_once if answer is not None]
        written += b"".join(self.written).splitlines()
        return [comparable(json.loads(line)) for line in written]


def _catalogue(host: Host) -> Catalogue:
    pages = {what: host.page(what, None, Caller()) for what in LISTS.values()}  # type: ignore[arg-type]
    return Catalogue("mcp-host", "1", "T", host.instructions, pages)


@given(conversations(), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_conversation_without_the_sdk_has_the_answers_of_one_with_it(
    lines: list[bytes], data: Any
) -> None:
    early = data.draw(st.integers(0, len(lines)), label="lines before the host is there")
    through_the_sdk = asyncio.run(Conversation(lane=False).run(lines))

    async def answered() -> list[Any]:
        conversation = EarlyConversation()
        conversation.ending.set()
        return await conversation.run(lines, early)

    assert by_request(asyncio.run(answered())) == by_request(through_the_sdk)


async def test_a_client_hears_of_lists_that_change_before_the_sdk_is_there() -> None:
    conversation = EarlyConversation()
    lines = [*(_line(frame) for frame in HANDSHAKE), _call(1, "p_who")]
    running = asyncio.create_task(conversation.run(lines, 2))
    await until(lambda: conversation.written)

    conversation.host.changes.of_lists()

    await until(lambda: b"tools/list_changed" in b"".join(conversation.written))
    conversation.ending.set()
    await running
