"""Servers that do not keep to the protocol: what of theirs is wrong harms nothing else."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ListPromptsResult, ListResourcesResult, ListToolsResult
from mcp_host.testing import Hosted, Person, hosted

COMMAND = [sys.executable, str(Path(__file__).with_name("little_server.py"))]
ANSWER = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "said"}]}}'
ODD = [
    "no JSON at all",
    '["a", {"b": 1}, null]',
    '{"jsonrpc": "2.0", "method": 5}',
    '{"jsonrpc": "2.0", "method": null, "id": 1}',
    '{"jsonrpc": "2.0", "method": "notifications/progress"}',
    '{"jsonrpc": "2.0", "method": "notifications/progress", "params": [1]}',
    '{"jsonrpc": "2.0", "method": "notifications/message", "params": [1]}',
    '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warn"}}',
    '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": 5, "logger": 5}}',
    '{"jsonrpc": "2.0", "method": "ping", "id": [1], "params": []}',
    '{"jsonrpc": "2.0", "id": null, "error": "none"}',
    '{"jsonrpc": "2.0", "id": 987654, "result": {}}',
]
PROGRESS = (
    '{"jsonrpc": "2.0", "method": "notifications/progress", '
    '"params": {"progressToken": %s, "progress": %s, "message": 5}}'
)
DEEP = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "structuredContent": {"a": %s}}}'


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server lists is learned anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Hosted]:
    packs = {"little": {"command": COMMAND, "env": {"STATE": str(tmp_path)}, "timeout": 20}}
    async with hosted({}, {"packs": packs}, root=tmp_path) as host:
        yield host


def result(result: Any) -> str:
    return f'{{"jsonrpc": "2.0", "id": ID, "result": {json.dumps(result)}}}'


NO_ANSWERS = [
    (result({"content": None}), "content must be a list"),
    (result({"content": [{"type": "strange"}]}), "of the unknown type 'strange'"),
    (result({"content": [{"type": "image", "data": "aGk="}]}), "mimeType of a part"),
    (result({"content": [{"type": "resource", "resource": {"uri": "a://b"}}]}), "a blob"),
    (DEEP % ("[" * 300 + "]" * 300), "nested too deeply"),
    (DEEP % ("[" * 99_999 + "]" * 99_999), "JSON that cannot be read"),
    (DEEP % ("9" * 5000), "JSON that cannot be read"),
]


async def test_messages_that_are_none_are_passed_over_and_the_server_goes_on(host: Hosted) -> None:
    for each in ODD:
        assert await host.value("little_echo", says=f"{each}\n{ANSWER}") == "said", each
    assert await host.value("little_echo", says=ANSWER.replace("ID", '"ID"')) == "said"
    progress = [PROGRESS % each for each in (('"TOKEN"', 1), ("TOKEN.0", 2), ("TOKEN", "NaN"))]
    assert await host.value("little_echo", says="\n".join([*progress, ANSWER])) == "said"

    told = host.heard.messages
    assert [one[1:] for one in told if one[0] == "progress"] == [(1, None, None), (2, None, None)]
    assert [one[1] for one in told if one[0] == "log"] == ["warning", "info"]


async def test_an_answer_that_is_none_fails_its_call_alone_and_says_why(host: Hosted) -> None:
    for answer, why in NO_ANSWERS:
        beside = asyncio.create_task(host.value("little_echo", words="beside"))
        failed = await host.error("little_echo", says=answer)

        assert failed["code"] == "internal_error" and why in failed["error"]
        assert await beside == {"own": 1}


async def test_an_error_is_bounded_and_structure_of_a_later_era_becomes_text(host: Hosted) -> None:
    error = {"code": -32000, "message": "m" * 9999, "data": "d" * 200_000}
    said = f'{{"jsonrpc": "2.0", "id": ID, "error": {json.dumps(error)}}}'

    failed = await host.error("little_echo", says=said)
    listed = await host.call("little_echo", says=result({"structuredContent": [1, 2]}))

    assert failed["details"]["server_data_bytes"] == 200_002
    assert len(json.dumps(failed)) < 10_000
    assert listed["content"] == [{"type": "text", "text": "[1,2]"}]


async def test_a_field_of_a_wrong_type_is_left_out_and_breaks_no_list(tmp_path: Path) -> None:
    schema = {"type": "object"}
    nulls = ("title", "description", "annotations", "icons", "_meta", "outputSchema")
    chain = {"A": {"$ref": "#/$defs/B"}, "B": {"type": "object", "properties": {"b": {}}}}
    tools = [
        {"name": "nulls", "inputSchema": schema, **dict.fromkeys(nulls)},
        {"name": "wrong", "inputSchema": schema, "description": 5, "icons": [{"src": 1}]},
        {"name": "hint", "inputSchema": schema, "annotations": {"readOnlyHint": "yes"}},
        {"name": "arms", "inputSchema": {"anyOf": [{"required": 5}, {"properties": [1]}, 5]}},
        {"name": "chain", "inputSchema": {"$ref": "#/$defs/A", "$defs": chain}},
        5,
        {"name": 5},
    ]
    others = {
        "prompts": [{"name": "ask", "description": 5, "arguments": [{"name": "a"}, 5, {}]}],
        "resources": [
            {"uri": "a://b", "name": 5, "size": -1, "annotations": {"priority": 7}},
            {"uri": "a://{b}", "name": "braces"},
        ],
        "templates": [{"uriTemplate": "a://c", "name": "no variable"}],
    }
    env = {"STATE": str(tmp_path), "TOOLS": json.dumps(tools[:5]), "OTHERS": json.dumps(others)}
    packs = {"little": {"command": COMMAND, "env": env}}
    async with hosted({}, {"packs": packs}, root=tmp_path) as host:
        listed = {what: host.host.visible(what, host.caller) for what in LISTS}
        (pack,) = host.host.report()
        answered = await host.value("little_echo", words="x")

    for what, model in LISTS.items():
        model.model_validate({what: listed[what]})
    tool = {one["name"]: one for one in listed["tools"]}
    assert tool["little_nulls"].keys() == {"name", "inputSchema"}
    assert tool["little_wrong"].keys() == {"name", "inputSchema"}
    assert tool["little_hint"]["annotations"] == {}
    assert tool["little_arms"]["inputSchema"] == {"type": "object", "properties": {}}
    assert tool["little_chain"]["inputSchema"]["properties"] == {"b": {}}
    assert listed["prompts"][0]["arguments"] == [{"name": "a"}]
    assert [one for one in listed["resources"] if one["uri"] == "a://b"] == [
        {"uri": "a://b", "name": "5", "annotations": {}}
    ]
    assert (pack["state"], answered) == ("ready", {"own": 1})


async def test_templates_of_every_kind_are_read_and_completed_by_the_servers_own_words(
    tmp_path: Path,
) -> None:
    uris = [
        "s://find{?words,limit}",
        "p://{file-name}.txt",
        "t://{a}/{a}",
        "n://{1}",
        "w://{/path*}",
    ]
    others = {"templates": [{"uriTemplate": uri, "name": uri[:4]} for uri in uris]}
    env = {"STATE": str(tmp_path), "OTHERS": json.dumps(others)}
    packs = {"little": {"command": COMMAND, "env": env}}
    read = ["s://find?words=a%20b&limit=5", "s://find?limit=5", "s://find", "p://a.txt"]
    async with hosted({}, {"packs": packs}, root=tmp_path) as host:
        listed = host.names("resourceTemplates")
        texts = [await host.text(uri) for uri in (*read, "t://b/b", "n://5", "w:///a/b")]
        proposed = [
            await host.complete({"type": "ref/resource", "uri": uris[at]}, name, "x")
            for at, name in ((0, "words"), (1, "file-name"))
        ]

    assert [uri for uri in listed if uri in uris] == uris
    assert texts == [f"it is {uri}" for uri in (*read, "t://b/b", "n://5", "w:///a/b")]
    assert proposed == [[f"{uris[0]}x"], [f"{uris[1]}x"]]


async def test_a_question_that_lacks_what_it_must_have_is_refused_to_the_server(
    host: Hosted,
) -> None:
    able = host.seen_by(person=Person())

    refused = json.loads(await able.value("little_ask", lacks="all"))

    assert refused["code"] == -32602


LISTS: dict[Any, Any] = {
    "tools": ListToolsResult,
    "prompts": ListPromptsResult,
    "resources": ListResourcesResult,
}
