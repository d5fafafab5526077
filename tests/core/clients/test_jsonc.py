"""JSON with comments: whatever its layout, an edit changes one member and keeps the rest."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from mcp_host.clients import jsonc

TRIVIA = st.sampled_from(
    ["", "", " ", "\n", "\n  ", "\r\n\t", " // x, {\n", "/* } */", "/* a\n b */ ", "\ufeff"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
) | st.text(max_size=5)
NAMES = st.sampled_from(["a", "b", "servers", "mcp-host", "é\n", "//", '"'])


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """An object in some layout or other."""
    return draw(objects(depth))


def objects(depth: int) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(NAMES, values(depth - 1)), max_size=3, unique_by=lambda m: m[0])
    return st.builds(layout, members, st.lists(TRIVIA, min_size=16, max_size=16), st.booleans())


def values(depth: int) -> st.SearchStrategy[str]:
    scalars = SCALARS.map(json.dumps)
    return scalars | objects(depth) if depth else scalars


def layout(members: list[tuple[str, str]], gaps: list[str], trailing_comma: bool) -> str:
    between = iter(gaps)
    parts = [
        f"{next(between)}{json.dumps(name)}{next(between)}:{next(between)}{value}{next(between)}"
        for name, value in members
    ]
    comma = "," if trailing_comma and parts else ""
    return f"{{{','.join(parts)}{comma}{next(between)}}}"


KEYS = st.sampled_from([("mcp-host",), ("servers", "mcp-host"), ("servers", "mcp-host", "a")])


@settings(max_examples=400, deadline=None)
@given(documents(), TRIVIA, KEYS, st.sampled_from([1, {"command": "x", "args": ["y", "z"]}]))
def test_an_edit_sets_one_member_and_taking_it_out_leaves_the_others(
    document: str, trivia: str, keys: tuple[str, ...], value: Any
) -> None:
    text = trivia + document + trivia
    data = jsonc.loads(text)
    try:
        after = jsonc.with_member(text, keys, value)
    except jsonc.NoObject:
        return

    assert jsonc.loads(after) == with_value(data, keys, value)
    assert is_there(data, keys) or is_subsequence(text, after)
    left = jsonc.loads(jsonc.without_member(after, keys))
    assert left == without(jsonc.loads(after), keys)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]",:/* \nab1truefals\\', max_size=30))
def test_text_of_any_kind_is_read_as_json_does_or_refused(text: str) -> None:
    try:
        strict = json.loads(text)
    except ValueError:
        try:
            jsonc.loads(text)
        except jsonc.BadJson as error:
            assert str(error).startswith("line ")
    else:
        assert jsonc.loads(text) == strict


@pytest.mark.parametrize(
    "text", ["{", '{"a": }', '{"a": 1,, "b": 2}', "/* open", "[1 2]", "01", "-"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.BadJson, match=r"^line 1, column \d+: .* expected$"):
        jsonc.loads(text)


def with_value(data: Any, keys: tuple[str, ...], value: Any) -> Any:
    key, *rest = keys
    inner = with_value(data.get(key, {}), tuple(rest), value) if rest else value
    return {**data, key: inner}


def without(data: Any, keys: tuple[str, ...]) -> Any:
    key, *rest = keys
    if not rest:
        return {name: value for name, value in data.items() if name != key}
    return {**data, key: without(data[key], tuple(rest))}


def is_there(data: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if key not in data:
            return False
        data = data[key]
    return True


def is_subsequence(small: str, large: str) -> bool:
    """Whether the small text comes out of the large one by leaving out; blanks do not count."""
    rest = iter(large)
    return all(character in rest for character in "".join(small.split()))


ARRAYS = {
    "empty": '{\n  "inputs": [],\n  "z": 1\n}\n',
    "lines": '{\n  "inputs": [\n    {"id": "a"}\n  ]\n}\n',
    "trailing comma": '{\n "inputs": [\n  {"id": "a"}, // first\n  {"id": "b"}, // last\n ]\n}\n',
    "one line": '{"inputs": [1, {"id": "a"}], "y": 2}',
    "windows": '{\r\n\t"inputs": [ // none\r\n\t]\r\n}',
    "comment": '{ "inputs": [ { "id": "a" } /* x */ ] }',
}


@pytest.mark.parametrize("text", ARRAYS.values(), ids=ARRAYS)
def test_an_item_is_added_to_an_array_and_taken_out_to_the_byte(text: str) -> None:
    item = {"id": "k", "password": True}

    added = jsonc.with_item(text, ("inputs",), item)

    assert jsonc.loads(added)["inputs"] == [*jsonc.loads(text)["inputs"], item]
    assert jsonc.without_item(added, ("inputs",), item) == text
