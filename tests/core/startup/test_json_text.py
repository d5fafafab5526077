"""JSON as startup parses and writes it: as `json` does."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from mcp_host.startup.json_text import dumps, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.booleans(), st.sampled_from([(", ", ": "), (",", ":")]))
def test_what_is_written_is_what_json_writes_and_reads_back(
    value: Any, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)

    assert dumps(value, ensure_ascii=ascii_only, separators=separators) == text
    assert repr(loads(text)) == repr(json.loads(text))
    data = text.encode("utf-8", "surrogatepass")
    assert repr(loads(data)) == repr(json.loads(data))


ODD = [
    b"", b" ", b"{", b"{}{}", b"[1,]", b"nul", b"\xff", b'"\x01"', b"1 2", b"-", b'{"a":1,"a":2}',
    b" \t\r\n[1] \n", b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"{\0}\0", b"NaN", b"\x0b1", b"1\x0c",
    b"[" * 100_000, b'"\xed\xa0\x80"', b"1e999", "\u00a01".encode(), b"9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("data", ODD, ids=lambda data: repr(data[:12]))
def test_what_is_odd_is_parsed_or_refused_as_json_does(data: bytes) -> None:
    assert _told(loads, data) == _told(json.loads, data)


@pytest.mark.parametrize("value", [{1: 2, None: True, 1.5: 0}, {"a": object()}, {(1,): 2}])
def test_what_is_no_json_is_written_or_refused_as_json_does(value: Any) -> None:
    assert _told(dumps, value) == _told(json.dumps, value)


def test_what_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="Circular"):
        dumps(value)


def _told(what: Any, value: Any) -> str:
    try:
        return repr(what(value))
    except (ValueError, TypeError, RecursionError) as error:
        kind = ValueError if isinstance(error, ValueError) else type(error)
        return kind.__name__
