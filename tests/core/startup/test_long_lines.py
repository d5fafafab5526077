"""Of a line that is not kept, the id of its request is known, or none."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from mcp_host.startup.long_lines import LongLine

TEXTS = st.text() | st.sampled_from(['"id":', '{"id":7,', "\\", '\\"', "}]", "id", "method"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)
DEEP = b"[" * 900 + b"]" * 900


def read(line: bytes, size: int) -> LongLine:
    """Read a line in parts of a size, each by one that goes on where the last was."""
    long = LongLine()
    for at in range(0, len(line), size):
        long.feed(line[at : at + size])
        long = LongLine.of(json.loads(json.dumps(long.state)))
    return long


@given(
    st.integers() | TEXTS,
    st.dictionaries(TEXTS, VALUES),
    st.permutations(["jsonrpc", "id", "method", "params"]),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.integers(1, 100),
)
def test_a_request_tells_its_own_id_wherever_that_stands_and_however_it_is_cut(
    request_id: str | int,
    params: dict[str, Any],
    order: list[str],
    ascii_only: bool,
    separators: tuple[str, str],
    size: int,
) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
    told = {name: message[name] for name in order}
    line = json.dumps(told, ensure_ascii=ascii_only, separators=separators)
    data = line.encode("utf-8", "surrogatepass")

    long = read(data, size)

    assert (long.request_id, long.length) == (request_id, len(data))
    assert type(long.request_id) is type(request_id)


REQUESTS = [
    (rb'{"\u0069d":5,"m\u0065thod":"a"}', 5),
    (b' {"id" : "\xc3\xa9\\n" , "method" : "a" } \r', "é\n"),
    (b'{"method":"a","params":' + DEEP + b',"id":5}', 5),
    (b'{"method":"a","params":{"id":1,"b":[{"id":2}]},"id":-5}', -5),
    (b'{"method":"a","' + b"k" * 2000 + b'":1,"id":5}', 5),
]
OTHERS = {
    "a notification": b'{"method":"a","params":{"id":5}}',
    "an answer": b'{"id":5,"result":{"method":"a"}}',
    "an answer that is an error": b'{"id":5,"error":{},"method":"a"}',
    "no method": b'{"id":5,"params":{"method":"a"}}',
    "two ids": b'{"id":5,"method":"a","id":6}',
    "a fraction": b'{"id":5.5,"method":"a"}',
    "a boolean": b'{"id":true,"method":"a"}',
    "an object": b'{"id":{"id":5},"method":"a"}',
    "no number": b'{"id":05,"method":"a"}',
    "a long text": b'{"id":"' + b"5" * 2000 + b'","method":"a"}',
    "a long number": b'{"id":' + b"5" * 2000 + b',"method":"a"}',
    "a batch": b'[{"id":5,"method":"a"}]',
    "cut off": b'{"id":5,"method":"a"',
    "more behind it": b'{"id":5,"method":"a"}{}',
    "a comma too many": b'{"id":5,"method":"a",}',
    "a comma too few": b'{"id":5 "method":"a"}',
    "a bracket too few": b'{"id":5,"method":"a","params":{"a":[}}',
    "brackets that do not fit": b'{"id":5,"method":"a","params":{"a":[1,[[[[{]]]]]}}',
    "no JSON inside": b'{"id":5,"method":"a","params":{"a":<1>}}',
    "too deep": b'{"id":5,"method":"a","params":' + b"[" * 2000 + b"]" * 2000 + b"}",
    "too many members": b'{"id":5,"method":"a"' + b',"a":1' * 400_000 + b"}",
}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(("line", "request_id"), REQUESTS)
def test_odd_requests_tell_theirs_as_well(line: bytes, request_id: object, size: int) -> None:
    assert read(line, size).request_id == request_id


@pytest.mark.parametrize("line", OTHERS.values(), ids=OTHERS)
def test_a_line_that_is_no_request_or_not_certainly_one_tells_none(line: bytes) -> None:
    assert read(line, 10_000).request_id is None
