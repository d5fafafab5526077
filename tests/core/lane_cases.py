"""What the tests of the lane share: a pack with every kind of answer, and requests of all kinds."""

import asyncio
import json
import sys
from types import ModuleType
from typing import Annotated, Any

from hypothesis import strategies as st
from mcp_host import Ask, Context, Image, Message, Result, Text, hookimpl, prompt, resource, tool
from mcp_host.errors import NotFound
from mcp_host.host import Host
from mcp_host.packs.inventory import Inventory
from mcp_host.packs.loading import Offer
from mcp_host.settings.loading import parse
from mcp_host.startup.protocol import META

REQUEST_ID = "mcp-host/request-id"
SECRETS = {"ANN": "token-of-ann-0001", "BOB": "token-of-bob-0002"}


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


@tool
async def released(context: Context) -> str:
    """Wait until it is released."""
    context.progress(1)
    while not is_released():  # noqa: ASYNC110 - tests have several loops, one after the other
        await asyncio.sleep(0.001)
    return "released"


@tool
def release() -> str:
    """Release who waits."""
    RELEASES.append(True)
    return "done"


RELEASES: list[bool] = []


def is_released() -> bool:
    return bool(RELEASES) and RELEASES.pop()


TOOLS = [waits, released, release, echo, listed, content, in_full, who, talks, fails, asks]


def lane_host(lane: bool, **tables: Any) -> Host:
    """A host with that pack."""
    module = ModuleType("lane_plugin")
    for name, given_ in {
        "mcp_host_tools": TOOLS,
        "mcp_host_resources": [fixed, named],
        "mcp_host_prompts": [spoken],
    }.items():
        setattr(module, name, hookimpl(_named(given_, name)))
    sys.modules["lane_plugin"] = module
    tables = {
        "packs": {"p": {"enabled": True}},
        "host": {"lane": lane, "asking_timeout": 2},
        **tables,
    }
    inventory = Inventory(
        parse(tables, None, SECRETS), offers={"p": [Offer("p", "lane_plugin", "p", "1")]}
    )
    inventory.load()
    assert inventory.report()[0]["state"] != "failed", inventory.report()
    return Host(inventory)


def _named(value: Any, name: str) -> Any:
    def function() -> Any:
        return value

    function.__name__ = name
    return function


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
METAS += [{"progressToken": True}, {"progressToken": None}, [], "x"]
METAS += [{"example.org/x": 1}, {"example/x": None, "progressToken": 3}, {"plain": 1}]
METAS += [{"io.modelcontextprotocol/other": 1}, {"io.modelcontextprotocol/related-task": {}}]
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
CAPABILITIES: list[Any] = [{}] * 3 + [
    {"elicitation": {}, "roots": {"listChanged": True}},
    {"sampling": {"tools": {}}, "experimental": {"x": {}}},
    {"sampling": 5},
    {"unknown": {}},
]
INFO = {"name": "t", "version": "1"}


def enveloped(frame: dict[str, Any], capabilities: Any) -> dict[str, Any]:
    envelope = {
        META + "protocolVersion": "2026-07-28",
        META + "clientCapabilities": capabilities,
        META + "clientInfo": INFO,
    }
    meta = frame["params"].get("_meta", {})
    if not isinstance(meta, dict):
        return frame
    return {**frame, "params": {**frame["params"], "_meta": {**meta, **envelope}}}


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a thread reads what it waits for
            await asyncio.sleep(0.001)


def comparable(value: Any) -> Any:
    """Without what is new for each call."""
    if isinstance(value, dict):
        return {
            key: "new" if key in (REQUEST_ID, "request_id", "requestState") else comparable(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, str) and value.startswith("{") and '"request_id"' in value:
        return comparable(json.loads(value))
    return value
