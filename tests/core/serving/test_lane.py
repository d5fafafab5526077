"""What the lane answers is what the SDK answers: the same frames, with the lane on and off."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterable
from types import ModuleType
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp_host import Ask, Context, Image, Message, Result, Text, hookimpl, prompt, resource, tool
from mcp_host.errors import NotFound
from mcp_host.host import Host
from mcp_host.packs.inventory import Inventory
from mcp_host.packs.loading import Offer
from mcp_host.serving.adapter import Adapter
from mcp_host.serving.lane.stdio import StdioLane
from mcp_host.serving.transports.stdio.link import StdioLink
from mcp_host.serving.transports.stdio.session import StdioSession, run
from mcp_host.settings.loading import parse
from mcp_host.startup.protocol import META

REQUEST_ID = "mcp-host/request-id"


# -- a pack with every kind of answer ----------------------------------------------------------


@tool
def echo(value: Any = None) -> dict[str, Any]:
    """Give it back."""
    return {"value": value}


@tool
def listed(count: int = 2) -> list[dict[str, int]]:
    """Give a list."""
    return [{"n": number} for number in range(count)]


@tool(output=None)
def content(odd: bool = False) -> Any:
    """Give content of several kinds."""
    return [Text("x", meta={"a": None} if odd else {"a": 1}), Image(b"1", None if odd else "a/b")]  # type: ignore[arg-type]


@tool
def in_full(kind: str = "plain") -> Result:
    """Give a result in full."""
    structured: Any = {"plain": {"a": [1, None]}, "list": [1, 2], "none": None}.get(kind, kind)
    meta: dict[str, Any] = {"example.org/x": None, META + "serverInfo": {"name": "else"}}
    return Result([Text("y")], structured, meta if kind == "meta" else {}, is_error=kind == "error")


@tool
def who(context: Context) -> dict[str, Any]:
    """Tell who calls."""
    caller = context.caller
    return {
        "client": caller.client,
        "protocol": caller.protocol,
        "offers": sorted(caller.offers),
        "connected": caller.connection is not None,
        "subject": caller.subject,
    }


@tool
def talks(context: Context, times: int = 3) -> str:
    """Say how far it is, and log."""
    for number in range(times):
        context.progress(number, times if number % 2 else None, f"step {number}")
        context.log("info", {"number": number}, "talks")
        context.log("debug", None)
    return "done"


@tool
def fails(how: str = "call") -> str:
    """Fail."""
    if how == "call":
        raise NotFound("Nothing is there", suggestions=["look"], details={"reason": "gone"})
    raise ValueError("secret text")


@tool
def asks(sure: Annotated[bool | None, Ask("Sure?")] = None) -> str:
    """Ask a person."""
    return f"sure: {sure}"


@resource("x://fixed", mime="text/plain", ttl=5)
def fixed() -> str:
    """Give a text."""
    return "fixed"


@resource("t://{name}")
def named(name: str) -> Any:
    """Give something by name."""
    if name == "gone":
        raise NotFound("It is gone")
    return b"bytes" if name == "bytes" else {"name": name}


@prompt
def spoken(name: str, tone: str = "mild") -> list[Message]:
    """Say something."""
    return [Message(f"{name} in a {tone} tone"), Message("yes", "assistant")]


@tool
async def waits(context: Context) -> str:
    """Wait until nobody waits for the answer."""
    context.progress(1)
    await asyncio.Event().wait()
    return "never"


TOOLS = [waits, echo, listed, content, in_full, who, talks, fails, asks]


def lane_host(lane: bool) -> Host:
    """A host with that pack."""
    module = ModuleType("lane_plugin")
    for name, given_ in {
        "mcp_host_tools": TOOLS,
        "mcp_host_resources": [fixed, named],
        "mcp_host_prompts": [spoken],
    }.items():
        setattr(module, name, hookimpl(_named(given_, name)))
    sys.modules["lane_plugin"] = module
    tables = {"packs": {"p": {"enabled": True}}, "host": {"lane": lane}}
    inventory = Inventory(
        parse(tables, None, {}), offers={"p": [Offer("p", "lane_plugin", "p", "1")]}
    )
    inventory.load()
    assert inventory.report()[0]["state"] != "failed", inventory.report()
    return Host(inventory)


def _named(value: Any, name: str) -> Any:
    def function() -> Any:
        return value

    function.__name__ = name
    return function


# -- requests, usual and unusual ---------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
CALLS: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.builds(lambda v: ("echo", {"value": v}), VALUES),
    st.sampled_from(
        [
            ("listed", {"count": 3}),
            ("listed", {"count": "no"}),
            ("listed", {"cuont": 3}),
            ("content", {}),
            ("content", {"odd": True}),
            *[("in_full", {"kind": k}) for k in ("plain", "list", "none", "meta", "error")],
            *[("who", {})] * 4,
            *[("talks", {})] * 4,
            ("fails", {}),
            ("fails", {"how": "badly"}),
            ("asks", {}),
            ("nothing", {}),
            ("echo", None),
            ("echo", []),
        ]
    ),
)
URIS = ["x://fixed", "t://a", "t://bytes", "t://gone", "t://%zz", "no", "", 5]
METAS: list[Any] = [None] * 8 + [{}, {"progressToken": 7}, {"progressToken": "t"}] * 3
METAS += [{"progressToken": True}, {"progressToken": None}, {"example.org/x": 1}, [], "x"]
EXTRAS: list[dict[str, Any]] = [{}] * 12 + [
    {"requestState": "x"},
    {"inputResponses": {}},
    {"task": {"ttl": 5}},
    {"other": None},
]


@st.composite
def requests(draw: Any) -> dict[str, Any]:
    """A method and its parameters, mostly as they should be."""
    method = draw(st.sampled_from(["tools/call"] * 6 + ["resources/read", "prompts/get"] * 2 + ODD))
    if method == "tools/call":
        name, arguments = draw(CALLS)
        params = {"name": f"p_{name}", "arguments": arguments}
        if draw(st.sampled_from([False] * 6 + [True])):
            del params["arguments"]
    elif method == "resources/read":
        params = {"uri": draw(st.sampled_from(URIS))}
    elif method == "prompts/get":
        given_ = st.sampled_from([{"name": "a"}, {"name": "a", "tone": "x"}, {}, {"name": 5}, None])
        params = {
            "name": draw(st.sampled_from(["p_spoken"] * 4 + ["no"])),
            "arguments": draw(given_),
        }
    else:
        params = draw(st.sampled_from([{}, {"_meta": {}}]))
    params |= draw(st.sampled_from(EXTRAS))
    meta = draw(st.sampled_from(METAS))
    if meta is not None:
        params["_meta"] = meta
    return {"method": method, "params": params}


ODD = ["ping", "ping", "tools/list", "logging/setLevel", "no/such"]
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
CAPABILITIES: list[Any] = [{}] * 3 + [
    {"elicitation": {}, "roots": {"listChanged": True}},
    {"sampling": {"tools": {}}, "experimental": {"x": {}}},
    {"sampling": 5},
    {"unknown": {}},
]
INFO = {"name": "t", "version": "1"}


@st.composite
def conversations(draw: Any) -> list[bytes]:
    """The lines of one client: a handshake or envelopes, and requests of all kinds."""
    capabilities = draw(st.sampled_from(CAPABILITIES))
    is_modern = draw(st.booleans())
    frames = [
        {"id": n + 10, **frame} for n, frame in enumerate(draw(st.lists(requests(), max_size=8)))
    ]
    if is_modern:
        frames = [_enveloped({"id": 0, "method": "server/discover", "params": {}}, {})] + [
            _enveloped(frame, capabilities)
            if draw(st.sampled_from([True] * 9 + [False]))
            else frame
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
    for odd in draw(st.lists(st.sampled_from(LINES), max_size=2)):
        lines.insert(draw(st.integers(2, max(2, len(lines)))), odd)
    return lines


def _enveloped(frame: dict[str, Any], capabilities: Any) -> dict[str, Any]:
    envelope = {
        META + "protocolVersion": "2026-07-28",
        META + "clientCapabilities": capabilities,
        META + "clientInfo": INFO,
    }
    meta = frame["params"].get("_meta", {})
    if not isinstance(meta, dict):
        return frame
    return {**frame, "params": {**frame["params"], "_meta": {**meta, **envelope}}}


# -- the two ways ------------------------------------------------------------------------------


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
                    await _until(lambda: written)
                if b"notifications/initialized" in line and b'"error"' not in written[0]:
                    await _until(lambda: adapter.connections.stdio.caller)
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
        answer = adapter.lane.answer

        async def counting(*given_: Any) -> Any:
            self.taken += 1
            return await answer(*given_)

        adapter.lane.answer = counting  # type: ignore[method-assign]


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a thread reads what it waits for
            await asyncio.sleep(0.001)


def _read_all(descriptor: int, into: list[bytes]) -> None:
    while chunk := os.read(descriptor, 65536):
        into.append(chunk)


def comparable(value: Any) -> Any:
    """Without what is new for each call."""
    if isinstance(value, dict):
        return {
            key: "an id" if key in (REQUEST_ID, "request_id") else comparable(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, str) and value.startswith("{") and '"request_id"' in value:
        return comparable(json.loads(value))
    return value


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
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
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
DISCOVER = [_enveloped({"id": 0, "method": "server/discover", "params": {}}, {})]


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
    more = [frame if era == "handshake" else _enveloped(frame, {})]
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
def test_a_cancelled_request_gets_no_answer_and_its_id_is_in_use_until_then(named: Any) -> None:
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
            enveloped = _enveloped(call, {})
            enveloped["params"]["_meta"]["progressToken"] = 1
            assert lane.takes(_line(enveloped))
            await _until(lambda: frames)
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
