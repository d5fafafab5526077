"""Answers given before the SDK is loaded are the SDK's own."""

import asyncio
import json
import os
import select
import sys
import threading
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp_host import Icon, hookimpl, prompt, resource, tool
from mcp_host.declarations.context import Caller
from mcp_host.host import Host
from mcp_host.packs.inventory import Inventory
from mcp_host.packs.loading import Offer
from mcp_host.serving.adapter import Adapter
from mcp_host.serving.transports.stdio.link import StdioLink
from mcp_host.serving.transports.stdio.session import StdioSession, run
from mcp_host.settings.loading import parse
from mcp_host.startup.catalogue import Catalogue
from mcp_host.startup.first_answers import FirstAnswers
from mcp_host.startup.first_loop import FULL, FirstLoop
from mcp_host.startup.frames import Splitter
from mcp_host.startup.handover import Handover
from mcp_host.startup.protocol import LISTS, META

REQUEST_ID = "mcp-host/request-id"
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]
NAMES = st.text("abcdefghij_", min_size=1, max_size=12)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n{}"), max_size=20)


@st.composite
def plugins(draw: Any) -> ModuleType:
    """A pack with some tools, resources and prompts, and with what lists can show of them."""

    def body(a: int, b: str = "x") -> dict[str, int]:
        return {"a": a}

    def of(x: str) -> str:
        return x

    def fixed() -> str:
        return "fixed"

    words = {
        "title": draw(st.none() | TEXTS),
        "description": draw(TEXTS),
        "icons": draw(st.sampled_from([(), (Icon("https://example.org/i.png", "image/png"),)])),
        "meta": draw(st.sampled_from([{}, {"example.org/kind": {"deep": [1, None]}}])),
    }
    names = sorted(draw(st.sets(NAMES, max_size=4)))
    tools = [
        tool(
            name=name,
            read_only=draw(st.booleans()),
            destructive=draw(st.none() | st.booleans()),
            output=draw(st.sampled_from(["full", "open", None])),
            **words,
        )(body)
        for name in names
    ]
    resources = [resource(f"x://{n}", mime="text/plain", size=5, **words)(fixed) for n in names]
    templates = [resource(f"t://{n}/{{x}}", **words)(of) for n in names[:2]]
    prompts = [prompt(name=name, **words)(of) for name in names]
    instructions = draw(TEXTS)
    module = ModuleType("generated_plugin")
    hooks = {
        "mcp_host_tools": lambda: tools,
        "mcp_host_resources": lambda: resources + templates,
        "mcp_host_prompts": lambda: prompts,
        "mcp_host_instructions": lambda: instructions,
    }
    for name, hook in hooks.items():
        setattr(module, name, hookimpl(_named(hook, name)))
    return module


def _named(function: Any, name: str) -> Any:
    function.__name__ = name
    return function


METHODS = [*LISTS, *LISTS, "ping", "server/discover", "tools/call", "resources/read", "no/such"]
PARAMS: list[dict[str, Any] | None] = [
    *[None] * 6,
    *[{}] * 3,
    {"cursor": "bzE"},
    {"name": "nope", "arguments": {}},
    {"uri": "x://nope"},
]
CAPABILITIES: list[Any] = [
    *[{}] * 4,
    *[{"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}] * 4,
    {"elicitation": {"form": {}}, "experimental": {"x": {}}},
    {"roots": {}, "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}},
    {"extensions": {"x": {"deep": {"deeper": 1e400}}}},
    {"extensions": {"x": 5}},
    {"experimental": []},
    {"sampling": 5},
]
INFOS: list[Any] = [
    *[{"name": "t", "version": "1"}] * 5,
    *[{"name": "t", "version": "1", "title": "T"}] * 2,
    *[{"name": "t", "version": "1", "websiteUrl": "no address", "description": ""}] * 2,
    {"name": "t", "version": "1", "websiteUrl": None},
    {"name": "\ud800", "version": "1"},
    {},
]


def handshake(version: str, capabilities: Any, info: Any, extra: bool) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return {"method": "initialize", "params": {**params, "_meta": {}} if extra else params}


def enveloped(request: dict[str, Any], capabilities: Any, info: Any, odd: bool) -> dict[str, Any]:
    meta = {
        META + "protocolVersion": "2026-07-28",
        META + "clientCapabilities": capabilities,
        META + "clientInfo": info,
        **({"progressToken": 7} if odd else {}),
    }
    return {**request, "params": {**(request["params"] or {}), "_meta": meta}}


@st.composite
def conversations(draw: Any) -> list[bytes]:
    """What a client sends: mostly as one should, at times not."""
    opening = st.builds(
        handshake,
        st.sampled_from(VERSIONS),
        st.sampled_from(CAPABILITIES),
        st.sampled_from(INFOS),
        st.sampled_from([False, False, False, True]),
    )
    plain = st.builds(
        lambda m, p: {"method": m, "params": p},
        st.sampled_from(METHODS),
        st.sampled_from(PARAMS),
    )
    modern = st.builds(
        enveloped,
        plain,
        st.sampled_from(CAPABILITIES),
        st.sampled_from(INFOS),
        st.sampled_from([*[False] * 6, True]),
    )
    usual = draw(st.sampled_from(["handshake", "modern", "any"]))
    frames: list[dict[str, Any]] = []
    if usual == "handshake":
        frames = [draw(opening), {"notification": "notifications/initialized"}]
        frames += draw(st.lists(plain, max_size=6))
    elif usual == "modern":
        frames = draw(st.lists(modern, min_size=1, max_size=6))
    else:
        frames = draw(st.lists(st.one_of(opening, plain, modern), min_size=1, max_size=5))
    hows = st.sampled_from([*["plain"] * 8, "mark", "half"])
    lines = [_misspelt(_line(n, frame), draw(hows)) for n, frame in enumerate(frames)]
    for _ in range(draw(st.integers(0, 2))):
        odd = draw(st.sampled_from([b"{nonsense", b"[]", b'{"jsonrpc":"2.0","id":true}']))
        lines.insert(draw(st.integers(0, len(lines))), odd)
    return lines


def _line(number: int, frame: dict[str, Any]) -> bytes:
    if "notification" in frame:
        return json.dumps({"jsonrpc": "2.0", "method": frame["notification"]}).encode()
    message = {"jsonrpc": "2.0", "id": number, "method": frame["method"]}
    if frame["params"] is not None:
        message["params"] = frame["params"]
    return json.dumps(message).encode()


def _misspelt(line: bytes, how: str) -> bytes:
    """A message that Python reads as JSON, in a spelling that JSON's own text does not allow."""
    if how == "mark":
        return b"\xef\xbb\xbf" + line
    if how == "half":
        return line.replace(b"\\ud800", b"\xed\xa0\x80")
    return line


def loaded(module: ModuleType) -> Host:
    sys.modules["generated_plugin"] = module
    tables = {"packs": {"made": {"enabled": True}}, "host": {"page_size": 3}}
    offers = {"made": [Offer("made", "generated_plugin", "made", "1")]}
    inventory = Inventory(parse(tables, None, {}), offers=offers)
    inventory.load()
    assert inventory.report()[0]["state"] != "failed", inventory.report()
    return Host(inventory)


def catalogue(host: Host) -> Catalogue:
    pages = {what: host.page(what, None, Caller()) for what in LISTS.values()}  # type: ignore[arg-type]
    return Catalogue("mcp-host", "1", None, host.instructions, pages)


async def through_the_sdk(host: Host, lines: list[bytes], before: Handover) -> list[Any]:
    """Everything that the loaded server writes."""
    source, feed = os.pipe()
    drain, sink = os.pipe()
    written: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(drain, written))
    reader.start()
    async with host:
        adapter = Adapter(host, name="mcp-host", version="1")
        detach = adapter.attach()
        link = StdioLink(source, sink, 1 << 20, before)
        session = StdioSession(link, adapter, link.drained)
        link.start()
        os.write(feed, b"".join(line + b"\n" for line in lines))
        os.close(feed)
        await run(adapter.server, session)
        detach()
    os.close(sink)
    reader.join()
    os.close(source)
    os.close(drain)
    return [_comparable(json.loads(line)) for line in b"".join(written).splitlines()]


def _read_all(descriptor: int, into: list[bytes]) -> None:
    while chunk := os.read(descriptor, 65536):
        into.append(chunk)


def _comparable(value: Any) -> Any:
    """Without what is new for each call."""
    if isinstance(value, dict):
        return {
            k: _comparable(v)
            for k, v in value.items()
            if k not in (REQUEST_ID, "request_id") and not (k == "_meta" and set(v) == {REQUEST_ID})
        }
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _sorted(frames: list[Any]) -> list[str]:
    answers = [frame for frame in frames if "method" not in frame]
    return sorted(json.dumps(frame, sort_keys=True) for frame in answers)


@given(plugins(), conversations(), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_conversation_that_begins_early_has_the_answers_of_one_that_waits(
    module: ModuleType, lines: list[bytes], data: Any
) -> None:
    waited = asyncio.run(through_the_sdk(loaded(module), lines, Handover()))
    part = st.just(len(lines)) | st.integers(0, len(lines))
    handed_over = data.draw(part, label="lines before the SDK is there")
    ended = data.draw(st.booleans(), label="input has ended then") and handed_over == len(lines)
    host = loaded(module)
    first = FirstAnswers(catalogue(host))
    at_once = [first.answer(line) for line in lines[:handed_over]]
    before = Handover(
        lines=first.replay, answered=first.answered, ended=ended, splitter=Splitter(1 << 20)
    )
    later = asyncio.run(through_the_sdk(host, lines[handed_over:], before))

    answered = [_comparable(json.loads(answer)) for answer in at_once if answer is not None]
    assert _sorted(answered + later) == _sorted(waited)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_ordinary_handshake_needs_no_sdk(version: str) -> None:
    first = FirstAnswers(
        Catalogue("s", "1", None, None, {what: {what: []} for what in LISTS.values()})
    )
    opening = handshake(version, {"roots": {"listChanged": True}}, INFOS[0], extra=False)

    assert first.answer(_line(0, opening)) is not None
    assert first.answer(_line(1, {"notification": "notifications/initialized"})) is None
    for number, method in enumerate([*LISTS, "ping"], 2):
        assert first.answer(_line(number, {"method": method, "params": {}})) is not None
    assert not first.waiting


@pytest.mark.parametrize(
    "capabilities",
    [
        {"roots": {}, "elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}},
        {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=app"]}}},
        {"experimental": {"anything": {}}},
    ],
)
def test_a_client_that_tells_much_of_itself_needs_no_sdk(capabilities: Any) -> None:
    first = FirstAnswers(
        Catalogue("s", "1", None, None, {what: {what: []} for what in LISTS.values()})
    )
    info = {"title": "T", "description": "It codes.", "websiteUrl": "https://example.org"}
    opening = handshake("2025-11-25", capabilities, {**INFOS[0], **info}, extra=False)

    assert first.answer(_line(0, opening)) is not None


def test_an_ordinary_modern_conversation_needs_no_sdk() -> None:
    first = FirstAnswers(
        Catalogue("s", "1", None, None, {what: {what: []} for what in LISTS.values()})
    )

    for number, method in enumerate(["server/discover", *LISTS]):
        request = enveloped({"method": method, "params": None}, {}, INFOS[0], odd=False)
        assert first.answer(_line(number, request)) is not None
    assert not first.waiting


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_flood_is_read_until_enough_is_kept_and_the_rest_waits_in_its_pipe(method: str) -> None:
    page = [{"name": "x" * 10_000}]
    shown = Catalogue("s", "1", None, None, {what: {what: page} for what in LISTS.values()})
    (source, feed), (answers, sink), (wake, loaded) = (os.pipe() for _ in range(3))
    loop = FirstLoop(source, sink, 1 << 20, FirstAnswers(shown), lambda: False, lambda: None)
    handed_over: list[Any] = []
    thread = threading.Thread(target=lambda: handed_over.append(loop.run(wake)), daemon=True)
    thread.start()

    given = {"name": "x" * 100_000} if method == "tools/call" else None
    opening, asked = (
        _line(number, enveloped({"method": name, "params": params}, {}, INFOS[0], odd=False))
        for number, name, params in [(0, "server/discover", None), (1, method, given)]
    )
    flood = memoryview(b"\n".join([opening, *[asked] * 2000]) + b"\n")
    os.set_blocking(feed, False)
    fed = 0
    while select.select([], [feed], [], 2)[1] and fed < len(flood):
        fed += os.write(feed, flood[fed : fed + 4096])
    os.write(loaded, b".")
    thread.join()

    kept = handed_over[0]
    assert fed < len(flood)
    assert FULL < sum(map(len, kept.lines)) + len(kept.unsent) < FULL + (4 << 20)
    for descriptor in (source, feed, answers, sink, wake, loaded):
        os.close(descriptor)
