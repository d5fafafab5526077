"""Whatever a client writes is answered clearly, or ignored where the protocol says so."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host.testing import CallFailed, Hosted, StdioClient, hosted

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

PARSE_ERROR, INVALID_REQUEST, NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
LIMIT = 100_000
ERAS = pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])

BROKEN = [
    # a line, the id of its answer, its code, what its message says
    (b"{not json", None, PARSE_ERROR, "not valid JSON"),
    (b'{"jsonrpc":"2.0","id":9,"method":"\xc3\x28"}', None, PARSE_ERROR, "not valid JSON"),
    (b"\xff\xfe{}", None, PARSE_ERROR, "not valid JSON"),
    (b"\x00", None, PARSE_ERROR, "not valid JSON"),
    (b"42", None, INVALID_REQUEST, "a message must be a JSON object"),
    (b"{}", None, INVALID_REQUEST, 'jsonrpc must be "2.0"'),
    (b"[]", None, INVALID_REQUEST, "a batch"),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST, "a batch"),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', 5, INVALID_REQUEST, 'jsonrpc must be "2.0"'),
    (b'{"jsonrpc":"2.0","id":6}', 6, INVALID_REQUEST, "method must be a string"),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST, "method must be a string"),
    (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', 8, INVALID_REQUEST, "an object"),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST, "a string or an int"),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST, "a string or an int"),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST, "a string or an int"),
    (b"[" * 50_000, None, INVALID_REQUEST, "nested too deeply"),
    (b"1" * 5000, None, INVALID_REQUEST, "a number is too long"),
    (b"x" * (LIMIT + 1), None, INVALID_REQUEST, "too long"),
    (b'{"text": "' + b"y" * 10 * LIMIT + b'"}', None, INVALID_REQUEST, "too long"),
]
IGNORED = [
    b"   ",
    b"\r",
    b'{"jsonrpc":"2.0","id":99,"result":{}}',
    b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
    b'{"jsonrpc":"2.0","method":"no/such/notification","params":{"a":1}}',
]


LIMITED = f"[host]\nmax_message_bytes = {LIMIT}\n[packs.sample]\n"


async def refusals(client: StdioClient, count: int) -> list[tuple[Any, int, str]]:
    """Wait for so many answers that belong to no request of the client's own."""
    await client.arrived(count)
    return [(f["id"], f["error"]["code"], f["error"]["message"]) for f in client.other_frames]


@pytest.mark.parametrize("when", ["at once", "later"])
@ERAS
async def test_broken_lines_are_refused_one_by_one_and_the_rest_is_served(
    machine: "Machine", protocol: str, when: str
) -> None:
    async with machine.serve(LIMITED, protocol=protocol) as client:
        if when == "later":
            await client.value("sample_echo")
        else:
            await client.tools()  # opens the conversation; the SDK is not loaded yet
        lines = [line for line, *_ in BROKEN]

        await client.send_bytes(b"\n".join([*IGNORED, *lines, b""]))

        assert await client.value("sample_big", size=3) == "xxx"
        found = await refusals(client, len(BROKEN))
        assert [(answer, code) for answer, code, _ in found] == [
            (answer, code) for _, answer, code, _ in BROKEN
        ]
        for (line, *_, words), (_, _, message) in zip(BROKEN, found, strict=True):
            assert words in message, line[:80]
        assert await client.end_input() == 0
        assert len(client.other_frames) == len(BROKEN)


LONG = {
    # lines over the limit, each with the id that its answer has
    "the id first": ('{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"x":"%s"}}', 70),
    "the id last": ('{"method":"tools/call","params":{"x":"%s"},"jsonrpc":"2.0","id":"é"}', "é"),
    "others inside": ('{"method":"a","params":{"id":1,"x":"\\"id\\":2,%s"},"id":73}', 73),
    "an answer": ('{"jsonrpc":"2.0","id":74,"result":{"x":"%s"}}', None),
    "a notification": ('{"jsonrpc":"2.0","method":"a","params":{"id":75,"x":"%s"}}', None),
    "no JSON": ('{"jsonrpc":"2.0","id":76,"method":"a","params":{"x":"%s"}', None),
}


@pytest.mark.parametrize("when", ["at once", "later"])
@ERAS
async def test_a_request_that_is_too_long_is_told_so_by_its_id_while_others_are_served(
    machine: "Machine", protocol: str, when: str
) -> None:
    async with machine.serve(LIMITED, protocol=protocol) as client:
        if when == "later":
            await client.value("sample_echo")
        running = asyncio.create_task(client.value("sample_hold", gate="open"))
        lines = [(line % ("y" * 3 * LIMIT)).encode() for line, _ in LONG.values()]

        await client.send_bytes(b"\n".join([*lines, b""]))

        found = await refusals(client, len(LONG))
        assert [(answer, code) for answer, code, _ in found] == [
            (answer, INVALID_REQUEST) for _, answer in LONG.values()
        ]
        for line, (_, _, message) in zip(lines, found, strict=True):
            assert f"{len(line)} bytes, of {LIMIT} that max_message_bytes of [host]" in message
        await client.value("sample_let_go", gate="open")
        await running
        assert await client.end_input() == 0


NESTED = b"[" * 1000 + b"]" * 1000
ARGUMENTS = [
    # an argument as it stands in the line, what the answer says of it
    (b'"text": "a\\ud800b"', "a string must not hold a lone surrogate"),
    (b'"data": ' + b"[" * 300 + b"]" * 300, "nested too deeply"),
    (b'"text": 5', "text: Input should be a valid string"),
    (b'"number": "5"', "number: Input should be a valid integer"),
    (b'"number": 1.5', "number: Input should be a valid integer"),
    (b'"number": 1e400', "number: Input should be a valid integer"),
    (b'"number": NaN', "number: Input should be a valid integer"),
    (b'"number": true', "number: Input should be a valid integer"),
    (b'"data": "no list"', "data: "),
    (b'"txt": "a"', "txt: is not a known argument"),
]


@ERAS
async def test_arguments_that_do_not_fit_are_named(machine: "Machine", protocol: str) -> None:
    async with machine.serve(protocol=protocol) as client:
        for number, (argument, _) in enumerate(ARGUMENTS):
            call = client.frame(f"bad-{number}", "tools/call", {"name": "sample_echo"})
            call["params"]["arguments"] = {"ARGUMENT": 0}
            line = json.dumps(call).encode().replace(b'"ARGUMENT": 0', argument)
            await client.send_bytes(line + b"\n")

        await client.arrived(len(ARGUMENTS))

        answers = {frame["id"]: json.dumps(frame) for frame in client.other_frames}
        for number, (_, words) in enumerate(ARGUMENTS):
            assert words in answers[f"bad-{number}"]
            assert (
                '"result"' not in answers[f"bad-{number}"]
                or '"isError": true' in (answers[f"bad-{number}"])
            )


@ERAS
async def test_odd_values_that_json_allows_come_back_as_they_were(
    machine: "Machine", protocol: str
) -> None:
    odd = {"text": "a\x00b\u2028\U0001f600\x7f", "number": 10**40, "data": [[[]], {}, None, "é"]}
    async with machine.serve(protocol=protocol) as client:
        assert await client.value("sample_echo", **odd) == odd


@ERAS
async def test_what_a_pack_returns_can_always_be_written(machine: "Machine", protocol: str) -> None:
    async with machine.serve(protocol=protocol) as client:
        for kind in ("surrogate", "object", "deep"):
            with pytest.raises(CallFailed) as failed:
                await client.value("sample_odd", kind=kind)
            assert failed.value.code == "internal_error"
        assert await client.value("sample_odd", kind="nan") == {"value": None}


@pytest.fixture
async def host() -> AsyncIterator[Hosted]:
    async with hosted({"sample": "sample_pack.plugin"}) as host:
        yield host


async def test_what_is_wrong_with_arguments_names_what_is_right(host: Hosted) -> None:
    missing = await host.error("sample_big")
    unknown = await host.error("sample_echo", txt="a")

    assert missing["error"] == "Invalid arguments: size: is required"
    assert unknown["code"] == "validation_error"
    assert unknown["suggestions"] == ["Did you mean 'text' instead of 'txt'?"]


async def test_unknown_names_are_protocol_errors_with_the_nearest_known_one(host: Hosted) -> None:
    for ask, name, near in (
        (host.call, "sample_ecko", "sample_echo"),
        (host.prompt, "sample_great", "sample_greet"),
        (host.read, "sample://plane", "sample://plain"),
    ):
        with pytest.raises(CallFailed) as failed:
            await ask(name)

        assert failed.value.code == "not_found"
        assert failed.value.envelope["suggestions"] == [f"Did you mean '{near}'?"]


async def test_a_string_is_read_as_json_once_where_only_an_array_fits(host: Hosted) -> None:
    assert (await host.value("sample_echo", data="[1]"))["data"] == [1]
    assert (await host.value("sample_echo", data='["[2]"]'))["data"] == ["[2]"]
    assert (await host.error("sample_echo", data='"[3]"'))["code"] == "validation_error"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such/method", {}, NOT_FOUND),
        ("tools/call", {}, INVALID_PARAMS),
        ("tools/call", {"name": 5}, INVALID_PARAMS),
        ("tools/call", {"name": "sample_echo", "arguments": [1]}, INVALID_PARAMS),
        ("tools/call", {"name": "x" * 60_000}, INVALID_PARAMS),
        ("tools/list", {"cursor": "made up"}, INVALID_PARAMS),
        ("resources/read", {"uri": "not a uri"}, INVALID_PARAMS),
        ("resources/read", {"uri": "sample://one/%ff"}, INVALID_PARAMS),
        ("resources/read", {"uri": "sample://all/" + "a/" * 50_000}, INVALID_PARAMS),
        ("prompts/get", {"name": "sample_greet", "arguments": {"name": 5}}, INVALID_PARAMS),
        ("prompts/get", {"name": "sample_greet", "arguments": {}}, INVALID_PARAMS),
        ("completion/complete", {"ref": {"type": "ref/none"}}, INVALID_PARAMS),
    ],
)
@ERAS
async def test_requests_that_ask_for_nothing_possible_are_protocol_errors(
    serving: Any, protocol: str, method: str, params: dict[str, Any], code: int
) -> None:
    answer = await serving[protocol].raw_request(method, params)

    assert answer["error"]["code"] == code
    assert len(json.dumps(answer)) < 3000
