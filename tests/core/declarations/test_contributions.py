"""What tools, resources and prompts return, and what a client hears before the answer."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from core_home import Home, pack_of
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from mcp_host import Complete, Context, Page, Text, prompt, tool
from mcp_host.declarations.errors import DeclarationError
from mcp_host.errors import ProtocolError
from mcp_host.testing import CallFailed, hosted
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

LEGACY, MODERN = "2025-11-25", "2026-07-28"
DESK = {"desk": "desk_pack.plugin"}
META = "io.modelcontextprotocol/"


class Row(BaseModel):
    """A row."""

    model_config = ConfigDict(title="A title nobody needs", extra="allow")

    id: int
    of: str | None = Field(None, alias="from")

    @computed_field
    def double(self) -> int:
        return 2 * self.id


class Size(TypedDict):
    width: float


class Colour(Enum):
    RED = "red"


@dataclass
class Box:
    size: Size
    day: date
    colour: Colour = Colour.RED


class Tree(BaseModel):
    name: str
    inside: list["Tree"] = []


class Wholes(RootModel[list[int]]):
    pass


ROW = Row.model_validate({"id": 1, "from": "a", "later": True})
BOX = Box({"width": 1.5}, date(2026, 1, 2))
RETURNED: dict[str, tuple[Any, Any, Any]] = {
    "row": (Row, ROW, {"id": 1, "from": "a", "later": True, "double": 2}),
    "nothing": (Row, Row(id=1), {"id": 1, "from": None, "double": 2}),
    "rows": (list[Row], [Row(id=2)], {"result": [{"id": 2, "from": None, "double": 4}]}),
    "size": (Size, {"width": 2}, {"width": 2.0}),
    "box": (Box, BOX, {"size": {"width": 1.5}, "day": "2026-01-02", "colour": "red"}),
    "whole": (int, 3, {"result": 3}),
    "flag": (bool, False, {"result": False}),
    "maybe": (Row | None, None, {"result": None}),
    "either": (int | list[str], ["a"], {"result": ["a"]}),
    "literal": (Literal["a", "b"], "b", {"result": "b"}),
    "table": (dict[str, int], {"a": 1}, {"a": 1}),
    "free": (dict[str, Any], {"a": [None]}, {"a": [None]}),
    "pair": (tuple[int, str], (1, "a"), {"result": [1, "a"]}),
    "wholes": (Wholes, Wholes([1]), {"result": [1]}),
    "tree": (Tree, Tree(name="a", inside=[Tree(name="b")]), None),
    "page": (
        Page[Row],
        Page([Row(id=1)], 3, "c"),
        {
            "total": 3,
            "truncated": True,
            "next_cursor": "c",
            "result": [{"id": 1, "from": None, "double": 2}],
        },
    ),
    "noted": (
        Page[Row],
        Page([Row(id=1)], 1, notes={"since": "2026-01-02"}),
        {
            "total": 1,
            "truncated": False,
            "next_cursor": None,
            "since": "2026-01-02",
            "result": [{"id": 1, "from": None, "double": 2}],
        },
    ),
}


def returning(name: str, hint: Any, value: Any) -> Any:
    def function() -> Any:
        return value

    function.__annotations__ = {"return": hint}
    return tool(name=name)(function)


def inner_schemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            yield from inner_schemas(
                list(value.values()) if key in ("properties", "$defs") else value
            )
    elif isinstance(schema, list):
        for item in schema:
            yield from inner_schemas(item)


async def test_what_a_tool_returns_satisfies_its_open_and_untitled_schema() -> None:
    made = [returning(name, hint, value) for name, (hint, value, _) in RETURNED.items()]

    async with hosted({"made": pack_of(*made)}) as host:
        for name, (_, _, expected) in RETURNED.items():
            schema = host.listed(f"made_{name}")["outputSchema"]
            result = await host.call(f"made_{name}")
            structured = result["structuredContent"]

            Draft202012Validator.check_schema(schema)
            Draft202012Validator(schema).validate(structured)
            assert schema["type"] == "object"
            for inner in inner_schemas(schema):
                assert "title" not in inner
                assert inner.get("additionalProperties") is not False
            text = json.loads(result["content"][0]["text"])
            assert text == structured.get("result", structured)
            if expected is not None:
                assert structured == expected


async def test_what_has_no_json_form_is_null_in_the_text_as_in_the_structured_content() -> None:
    made = returning("sizes", dict[str, float], {"x": float("nan"), "y": 0.5})

    async with hosted({"made": pack_of(made)}) as host:
        result = await host.call("made_sizes")

    assert result["structuredContent"] == {"x": None, "y": 0.5}
    assert result["content"][0]["text"] == '{"x":null,"y":0.5}'


def test_a_page_tells_of_the_rest_where_there_is_one_or_a_note() -> None:
    listing = returning("rows", Page[Row], None)
    rest = {"total": 1, "truncated": False, "next_cursor": None}

    def texts(page: Page[Row]) -> list[Any]:
        return [json.loads(part["text"]) for part in listing.answer(page)["content"]]

    rows = [{"id": 1, "from": None, "double": 2}]
    assert texts(Page([Row(id=1)], 1)) == [rows]
    assert texts(Page([Row(id=1)], 1, notes={"since": 5})) == [rows, {**rest, "since": 5}]
    assert texts(Page([Row(id=1)], 9, "c"))[1] == {
        "total": 9,
        "truncated": True,
        "next_cursor": "c",
    }
    with pytest.raises(ValueError, match="total"):
        Page([Row(id=1)], 1, notes={"total": 2})


def test_a_tool_may_answer_a_whole_list_or_a_page_of_it() -> None:
    either = returning("rows", list[Row] | Page[Row], None)

    whole, part = either.answer([Row(id=1)]), either.answer(Page([Row(id=1)], 9, "c"))

    row = {"id": 1, "from": None, "double": 2}
    assert (len(whole["content"]), whole["structuredContent"]) == (1, {"result": [row]})
    assert part["structuredContent"]["next_cursor"] == "c"
    assert either.listed("rows", str)["outputSchema"]["required"] == ["result"]


async def test_a_result_that_breaks_its_own_schema_stays_in_the_log() -> None:
    async with hosted({"made": pack_of(returning("row", Row, {"id": "secret-text"}))}) as host:
        error = await host.error("made_row")

    assert error["code"] == "internal_error"
    assert "secret-text" not in json.dumps(error)


async def test_open_and_absent_output_schemas_publish_no_more_than_they_say() -> None:
    async def row() -> Row:
        return ROW

    loose = tool(name="loose", output="open")(row)
    text = tool(name="text", output=None)(row)
    async with hosted({"made": pack_of(loose, text)}) as host:
        listed = [host.listed(f"made_{name}") for name in ("loose", "text")]
        structured = await host.call("made_loose")
        alone = await host.call("made_text")

    assert listed[0]["outputSchema"] == {"type": "object"}
    assert structured["structuredContent"]["id"] == 1
    assert "outputSchema" not in listed[1]
    assert "structuredContent" not in alone
    assert json.loads(alone["content"][0]["text"])["id"] == 1


async def test_a_page_is_the_array_alone_and_tells_of_the_rest_only_where_there_is_one() -> None:
    async with hosted(DESK) as host:
        part = await host.call("desk_papers", limit=2)
        whole = await host.call("desk_papers", limit=3)

    texts = [json.loads(content["text"]) for content in part["content"]]
    assert [paper["name"] for paper in texts[0]] == ["tax", "tea"]
    assert texts[1:] == [{"total": 3, "truncated": True, "next_cursor": "after-tea"}]
    assert part["structuredContent"] == {**texts[1], "result": texts[0]}
    assert len(whole["content"]) == 1
    assert whole["structuredContent"]["truncated"] is False
    assert whole["structuredContent"]["next_cursor"] is None


async def test_every_kind_of_content_arrives_with_its_type_and_bytes() -> None:
    async with hosted(DESK) as host:
        result = await host.call("desk_everything")
        contents = await host.read("desk://all")
        (stamp,) = await host.read("desk://stamp")
        (card,) = await host.read("desk://card")

    text, image, audio, embedded, link = result["content"]
    assert (text["text"], text["_meta"]) == ("words", {"kind": "text"})
    assert base64.b64decode(image["data"]) == b"\x89PNG"
    assert (image["mimeType"], audio["mimeType"]) == ("image/png", "audio/wav")
    assert embedded["resource"]["mimeType"] == "text/markdown"
    assert (link["type"], link["uri"]) == ("resource_link", "desk://papers/tax")
    assert result["structuredContent"] == {"kinds": 5}
    assert result["_meta"]["made"] == "by hand"
    assert result["_meta"]["mcp-host/request-id"]
    assert [content["uri"] for content in contents] == [
        "desk://papers/tax",
        "desk://papers/tea",
        "desk://papers/tie",
        "desk://stamp",
    ]
    assert base64.b64decode(contents[-1]["blob"]) == base64.b64decode(stamp["blob"]) == b"\x00\xff"
    assert card["mimeType"] == "application/json"
    assert json.loads(card["text"])["name"] == "card"


async def test_a_missing_resource_is_a_protocol_error_that_names_its_uri() -> None:
    async with hosted(DESK) as host:
        with pytest.raises(CallFailed) as missing:
            await host.read("desk://papers/none")
        with pytest.raises(CallFailed) as unknown:
            await host.read("desk://nowhere/at/all")

    assert missing.value.envelope["code"] == "not_found"
    assert missing.value.envelope["uri"] == "desk://papers/none"
    assert unknown.value.envelope["uri"] == "desk://nowhere/at/all"


async def test_proposals_come_of_the_service_and_of_what_is_filled_in_already() -> None:
    prompt = {"type": "ref/prompt", "name": "desk_tidy"}
    template = {"type": "ref/resource", "uri": "desk://papers/{name}"}

    async with hosted(DESK) as host:
        of_prompt = await host.complete(prompt, "paper", "t", shelf="top/")
        of_template = await host.complete(template, "name", "te")
        of_nothing = await host.complete(prompt, "shelf", "t")

    assert of_prompt == ["top/tax", "top/tea", "top/tie"]
    assert of_template == ["tea"]
    assert of_nothing == []


def test_a_function_of_proposals_that_takes_a_context_is_refused_when_declared() -> None:
    def mine(value: str, context: Context) -> list[str]:
        return [f"{context.caller.subject}{value}"]

    @prompt
    def ask(paper: Annotated[str, Complete(mine)]) -> str:
        return paper

    with pytest.raises(DeclarationError, match=r"for 'paper' must .* no Context \('context'\)"):
        _ = ask.signature


async def test_a_prompt_that_returns_what_no_prompt_can_says_so_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @prompt
    def count() -> int:
        return 3

    async with hosted({"odd": pack_of(mcp_host_prompts=lambda: [count])}) as host:
        with pytest.raises(CallFailed) as failed:
            await host.prompt("odd_count")

    assert failed.value.code == "internal_error"
    (trace,) = [r.traceback for r in caplog.records if hasattr(r, "traceback")]
    assert "a prompt must return a text, a Message, content such as Image" in trace
    assert trace.endswith("not int")


async def test_proposals_of_a_pack_that_failed_or_takes_too_long_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def wait(value: str) -> list[str]:
        await asyncio.Event().wait()
        return [value]

    @prompt
    def ask(paper: Annotated[str, Complete(wait)]) -> str:
        return paper

    @asynccontextmanager
    async def closed() -> AsyncIterator[None]:
        raise OSError("the shop is closed")
        yield

    monkeypatch.setattr("mcp_host.host.completion.TIMEOUT", 0.2)
    packs = {
        "slow": pack_of(mcp_host_prompts=lambda: [ask]),
        "shut": pack_of(mcp_host_prompts=lambda: [ask], mcp_host_open=closed),
    }
    async with hosted(packs) as host:
        codes = {}
        for pack in packs:
            with pytest.raises(ProtocolError) as refused:
                await host.complete({"type": "ref/prompt", "name": f"{pack}_ask"}, "paper", "t")
            codes[pack] = (refused.value.data or {})["code"]

    assert codes == {"slow": "timeout", "shut": "unavailable"}


async def test_proposals_that_fail_and_changes_that_do_not_come_say_what_there_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(value: str) -> list[str]:
        raise LookupError("no shelf")

    @prompt
    def ask(paper: Annotated[str, Complete(fail)]) -> str:
        return paper

    async with hosted({"odd": pack_of(mcp_host_prompts=lambda: [ask])}) as host:
        with pytest.raises(ProtocolError):
            await host.complete({"type": "ref/prompt", "name": "odd_ask"}, "paper", "t")
        host.changes.put_nowait("made://2")
        with pytest.raises(
            TimeoutError, match=r"no change of made://1 in 0 s; changed: .*made://2"
        ):
            await host.next_change("made://1", timeout=0)

    assert "completion of odd_ask failed: LookupError: no shelf" in caplog.messages


async def test_a_text_names_a_sibling_by_the_name_that_clients_know() -> None:
    table = {"packs": {"desk": {"prefix": "my-desk"}}}

    async with hosted(DESK, table) as host:
        greet = host.listed("my-desk_greet")
        (prompt, *_) = host.host.visible("prompts", host.caller)

    assert greet["description"] == "Greet somebody. my-desk_hold waits."
    assert prompt["description"] == "Tidy a shelf with my-desk_papers."


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_comes_back_as_it_was_sent(text: str) -> None:
    @tool
    def echo(text: str) -> str:
        return text

    @tool
    def shout(text: str) -> Text:
        return Text(text)

    async def both() -> tuple[Any, Any]:
        async with hosted({"made": pack_of(echo, shout)}) as host:
            return await host.value("made_echo", text=text), await host.value(
                "made_shout", text=text
            )

    assert asyncio.run(both()) == (text, text)


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_progress_and_logs_arrive_before_the_answer_and_only_where_they_were_asked_for(
    home: Home, protocol: str
) -> None:
    home.write("[packs.desk]\n")
    call = {"name": "desk_tell", "arguments": {"count": 2000}}
    async with home.stdio("--config", "mcp-host.toml", protocol=protocol) as client:

        def heard() -> tuple[list[Any], list[Any]]:
            """What came since the last look: progress, and the levels of log messages."""
            told, client.notifications[:] = list(client.notifications), []
            params = {
                method: [n["params"] for n in told if n["method"] == f"notifications/{method}"]
                for method in ("progress", "message")
            }
            return params["progress"], [message["level"] for message in params["message"]]

        await client.value("desk_greet", name="Ann")  # the desk is open now
        heard()
        if protocol == LEGACY:
            await client.request("logging/setLevel", {"level": "warning"})
        level = {META + "logLevel": "warning"} if protocol == MODERN else {}

        await client.request("tools/call", {**call, "_meta": {**level, "progressToken": "p"}})
        progress, levels = heard()
        await client.request("tools/call", call)
        no_progress, later_levels = heard()

    steps = [(p["progress"], p["total"], p["message"]) for p in progress]
    assert steps == [(n, 2000, f"step {n}") for n in range(1, 2001)]
    assert {p["progressToken"] for p in progress} == {"p"}
    assert levels == ["warning", "error"]
    assert no_progress == []
    assert later_levels == (["warning", "error"] if protocol == LEGACY else [])


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_those_who_watch_a_resource_hear_that_it_changed_and_nobody_else_does(
    home: Home, protocol: str
) -> None:
    home.write("[packs.desk]\n")
    watched = "desk://papers/tax"
    async with home.stdio("--config", "mcp-host.toml", protocol=protocol) as client:
        if protocol == LEGACY:
            await client.request("resources/subscribe", {"uri": watched})
        else:
            wanted = {"notifications": {"resourceSubscriptions": [watched]}}
            await client.send(client.frame("watch", "subscriptions/listen", wanted))
            await client.notified("notifications/subscriptions/acknowledged")
        await client.value("desk_write", name="tea", text="black")
        await client.value("desk_write", name="tax", text="0")
        (told,) = await client.notified("notifications/resources/updated")

    assert told["params"]["uri"] == watched


async def test_lists_are_paged_when_they_are_told_to_and_a_foreign_cursor_is_refused(
    home: Home,
) -> None:
    home.write("[host]\npage_size = 10\n[packs.desk]\n")

    async with home.stdio("--config", "mcp-host.toml", protocol=MODERN) as client:
        first = await client.request("tools/list")
        everything = await client.tools()
        foreign = await client.raw_request("tools/list", {"cursor": "bm90LW91cnM"})
        page = await client.request("prompts/list")

    assert len(first["tools"]) == 10
    assert len({t["name"] for t in everything}) == len(everything) > 20
    assert foreign["error"]["code"] == -32602
    assert "nextCursor" not in page


async def test_no_output_schema_has_a_list_of_types_which_some_clients_do_not_read() -> None:
    @tool
    def some() -> Page[str]:
        return Page([], total=0)

    async with hosted({"made": pack_of(some)}) as host:
        schema = host.listed("made_some")["outputSchema"]

    assert schema["properties"]["next_cursor"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
